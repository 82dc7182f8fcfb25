<?php
// Entries by SMS and USSD through Africa's Talking. Both callbacks go to https://…/africastalking.php?token=TOKEN, since
// they are not signed. Variables: BASE and KEY of the client, TOKEN, TERMS (the printed version of what consumers agree
// to), AT_USERNAME, AT_KEY, SENDER, and KEYWORD if the short code is shared.
declare(strict_types=1);

use CampaignEntry\ApiError;
use CampaignEntry\Client;

require __DIR__ . '/client.php';

const ASK = 'Tuma namba ya kwenye pakiti.';
const SORRY = 'Samahani, imeshindikana kwa sasa. Jaribu tena baadaye.';

/** The first word of 8 to 20 letters and digits with a digit in it, or the groups of a code. One word can be letters alone. */
function codeIn(string $text): ?string
{
    preg_match_all('/[a-z\d]+/i', str_replace('-', '', $text), $found);
    $words = $found[0];
    $numbered = preg_grep('/\d/', $words);
    // Of K7M2 QXDA 9BCD, each word is a group; of "code 1234 5678 9012", those of digits.
    $areGroups = preg_grep('/[a-z]\d|\d[a-z]/i', $words) && count(array_unique(array_map(strlen(...), $words))) === 1;
    $joined = implode($areGroups || count($words) === 1 ? $words : $numbered);
    return current(preg_grep('/^.{8,20}$/', [...$numbered, $joined])) ?: null;
}

/** Text for the consumer. The same id enters once. */
function enter(string $channel, string $id, string $phone, string $code): string
{
    // With its last try, an entry takes up to 10 seconds, and an SMS 4: a callback ends within 15. When the consumer
    // sends the code again, the same code and phone get the same submission.
    $client = new Client(getenv('BASE'), getenv('KEY'), 'sw', budget: 9.0);
    $entry = ['phone' => $phone, 'code' => $code, 'consent' => true, 'consent_version' => getenv('TERMS'), 'channel' => $channel];
    try {
        return $client->createSubmission($entry, "at-$channel-" . hash('sha256', $id))['message'];
    } catch (ApiError $error) {
        error_log($error->getMessage());
        return SORRY;
    }
}

/** `text` has all that was typed in the session, the short way of dialling included: `*149*46*CODE#`. */
function answerUssd(array $call): string
{
    $typed = explode('*', $call['text']);
    $code = codeIn(end($typed));
    $answer = $code === null ? 'CON ' . ASK : 'END ' . enter('ussd', $call['sessionId'], $call['phoneNumber'], $code);
    return preg_replace('/^(.{182}).+/su', '$1', $answer); // A screen has 182 characters.
}

function answerSms(array $call): void
{
    $keyword = preg_quote((string) getenv('KEYWORD'), '/');
    $code = codeIn(preg_replace("/^\s*$keyword(\b|(?=\d))/i", '', $call['text']));
    sendSms($call['from'], $code === null ? ASK : enter('sms', $call['id'], $call['from'], $code));
}

function sendSms(string $to, string $text): void
{
    $request = curl_init((getenv('AT_URL') ?: 'https://api.africastalking.com') . '/version1/messaging');
    $fields = ['username' => getenv('AT_USERNAME'), 'from' => getenv('SENDER'), 'to' => $to, 'message' => $text];
    curl_setopt_array($request, [
        CURLOPT_HTTPHEADER => ['apiKey: ' . getenv('AT_KEY'), 'Accept: application/json'],
        CURLOPT_POSTFIELDS => http_build_query($fields),
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 4,
    ]);
    curl_exec($request);
    $status = curl_getinfo($request, CURLINFO_HTTP_CODE);
    if ($status < 200 || $status > 299) {
        error_log("no SMS was sent: status $status of Africa's Talking");
    }
}

header('Content-Type: text/plain; charset=utf-8');
$token = (string) getenv('TOKEN');
$call = array_filter($_POST, is_string(...));
if ($token === '' || !hash_equals($token, (string) ($_GET['token'] ?? ''))) {
    http_response_code(403);
} elseif (isset($call['sessionId'], $call['phoneNumber'], $call['text'])) {
    echo answerUssd($call);
} elseif (isset($call['id'], $call['from'], $call['text'])) {
    answerSms($call);
} else {
    http_response_code(400);
}
