<?php
// Runs the table of cases, or the story that the driver compares: php run.php cases|story
declare(strict_types=1);

use CampaignEntry\ApiError;
use CampaignEntry\Client;
use CampaignEntry\WebhookError;

require __DIR__ . '/../php/client.php';
set_error_handler(fn ($level, $text) => throw new ErrorException($text));

const KEY = 'svc_test_key_of_the_cases';
const ENTRY = ['phone' => '0712 345 678', 'code' => 'AB12', 'consent' => true];

/** Gives the case's replies, on a clock that only moves by waiting. */
class Scripted extends Client
{
    public array $tries = [];
    public float $time = 0;
    public float $waited = 0;

    public function __construct(private readonly array $case)
    {
        parent::__construct('https://api.invalid', KEY);
    }

    protected function send(string $method, string $url, array $headers, ?string $body, float $seconds): array
    {
        $this->tries[] = [$method, $url, $headers, $body];
        $replies = $this->case['replies'];
        expect(count($this->tries) <= count($replies) || isset($this->case['repeat']), 'one try too many');
        [$status, $retryAfter, $reply] = $replies[min(count($this->tries), count($replies)) - 1];
        $this->time += min($this->case['takes'] ?? 0, $seconds);
        return [$status, $retryAfter, is_string($reply) ? $reply : json_encode($reply)];
    }

    protected function now(): float
    {
        return $this->time;
    }

    protected function pause(float $seconds): void
    {
        $this->time += $seconds;
        $this->waited += $seconds;
    }
}

function expect(bool $holds, string $what): void
{
    $holds || throw new LogicException($what);
}

function cases(): void
{
    $table = json_decode(file_get_contents(__DIR__ . '/cases.json'), true, 512, JSON_THROW_ON_ERROR);
    foreach ($table as $case) {
        $client = new Scripted($case);
        $settles = ($case['call'] ?? '') === 'wait_until_settled';
        try {
            $ended = ['result' => $settles ? $client->waitUntilSettled('1') : $client->createSubmission(ENTRY, 'attempt-of-the-cases')];
        } catch (ApiError $error) {
            $found = ['status' => $error->status, 'code' => $error->code, 'field' => $error->field, 'errors' => $error->errors,
                'fix' => $error->fix, 'retry_after' => $error->retryAfter];
            $ended = ['error' => array_intersect_key($found, $case['error'] ?? $found)];
            expect($error->requestId === $client->tries[0][2]['X-Request-Id'] && !str_contains("$error", KEY), $case['name']);
        }
        foreach ($ended as $name => $value) {
            expect($value == ($case[$name] ?? null), "{$case['name']}: " . json_encode($value));
        }
        foreach ($settles ? [] : $client->tries as $same) {
            expect($same === $client->tries[0], $case['name']);
        }
        expect($case['waited'][0] <= $client->waited && $client->waited <= $case['waited'][1], "{$case['name']}: $client->waited");
    }
    echo 'php: ', count($table) + webhooks(), " cases passed\n";
}

function webhooks(): int
{
    ['delivery' => $delivery, 'cases' => $cases] = json_decode(file_get_contents(__DIR__ . '/webhooks.json'), true, 512, JSON_THROW_ON_ERROR);
    foreach ($cases as $case) {
        $given = ['headers' => ($case['headers'] ?? []) + $delivery['headers']] + $case + $delivery;
        $ended = [];
        try {
            $event = Client::verifyWebhook($given['body'], $given['headers'], $given['secrets'], $given['now']);
            expect($event === json_decode($given['body'], true), $case['name']);
        } catch (WebhookError $error) {
            $ended['refused'] = $error->getMessage();
        } catch (InvalidArgumentException $error) {
            $ended['misused'] = $error->getMessage();
        }
        foreach (['refused', 'misused'] as $name) {
            $fits = isset($ended[$name]) === isset($case[$name]) && str_contains($ended[$name] ?? '', $case[$name] ?? '');
            expect($fits, "{$case['name']}: " . json_encode($ended));
        }
    }
    return count($cases);
}

function story(): void
{
    $script = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
    $client = new Client(getenv('BASE'), getenv('KEY'));
    $told = ['campaign' => $client->getCampaign()['slug'], 'check' => $client->checkCode(['code' => 'TEST-0-VALID.story'])['precheck']];
    foreach ($script['outcomes'] as $code => $phone) {
        $entered = $client->createSubmission(['phone' => $phone, 'code' => $code, 'consent' => true], Client::newAttempt());
        $told['outcomes'][$code] = $client->waitUntilSettled($entered['id'], 20)['message_key'];
    }
    foreach ($script['entries'] as $phone) {
        $entry = ['phone' => $phone, 'code' => "TEST-0-VALID.$phone", 'consent' => true];
        $told['entries'][] = $client->createSubmission($entry, Client::newAttempt())['id'];
    }
    try {
        $client->createSubmission(['phone' => '0812', 'consent' => true], Client::newAttempt());
    } catch (ApiError $error) {
        $told['refused'] = [$error->code, array_column($error->errors, 'field')];
    }
    $told['found'] = count($client->lookupSubmissions(['phone' => $script['entries'][0]])['submissions']);
    echo json_encode($told);
}

$argv[1]();
