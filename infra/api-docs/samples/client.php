<?php // PHP 8 with the curl extension
const MAX_ATTEMPTS = 5;
const TIMEOUT_S = 25; // longer than the service takes at most
const MAX_WAIT_S = 30;

/** An error of the API. `status` is 0 if there was no reply, and `code` is empty unless the service itself replied. */
class ApiError extends RuntimeException
{
    public $code = '';
    public int $status;
    public array $errors; // every field at fault
    public ?string $field;
    public ?string $requestId;

    public function __construct(int $status, string $text)
    {
        $error = json_decode($text, true)['error'] ?? [];
        $told = isset($error['code']) ? "{$error['code']}: {$error['message']}" : $text;
        parent::__construct(($status ?: 'No reply') . ": $told");
        $this->status = $status;
        $this->code = $error['code'] ?? '';
        $own = isset($error['field']) ? [['field' => $error['field'], 'message' => $error['message']]] : [];
        $this->errors = $error['errors'] ?? $own;
        $this->field = $error['field'] ?? $this->errors[0]['field'] ?? null;
        $this->requestId = $error['request_id'] ?? null;
    }
}

/** Calls the API. Sends the same request again after a failed connection, 409, 429 and 5xx. */
function call(string $method, string $path, ?array $body = null, array $headers = []): array
{
    $headers = [
        'Authorization: Bearer ' . getenv('KEY'), 'Content-Type: application/json',
        ...array_map(fn ($name, $value) => "$name: $value", array_keys($headers), $headers),
    ];
    for ($attempt = 1; ; $attempt++) {
        [$status, $retryAfter, $text] = send($method, getenv('BASE') . $path, $body, $headers);
        if ($status >= 200 && $status < 300) {
            return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
        }
        $canRetry = in_array($status, [0, 409, 429]) || $status >= 500;
        $backoff = 0.5 * 2 ** $attempt * random_int(50, 100) / 100;
        $wait = max($retryAfter, $backoff);
        if (!$canRetry || $attempt === MAX_ATTEMPTS || $wait > MAX_WAIT_S) {
            throw new ApiError($status, $text);
        }
        usleep((int) ($wait * 1_000_000));
    }
}

function send(string $method, string $url, ?array $body, array $headers): array
{
    $retryAfter = 0;
    $request = curl_init($url);
    curl_setopt_array($request, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => $headers,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => TIMEOUT_S,
        CURLOPT_HEADERFUNCTION => function ($request, $line) use (&$retryAfter) {
            if (preg_match('/^retry-after:\s*(\d+)/i', $line, $found)) {
                $retryAfter = (int) $found[1];
            }
            return strlen($line);
        },
    ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => json_encode($body)]));
    $text = curl_exec($request);
    return $text === false ? [0, 0, curl_error($request)] : [curl_getinfo($request, CURLINFO_HTTP_CODE), $retryAfter, $text];
}
