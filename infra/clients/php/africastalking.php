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

/** The first word of 8 to 20 letters and digits; otherwise all words together, since codes are printed in groups. */
function codeIn(string $text): ?string
{
    foreach ([...explode(' ', $text), $text] as $typed) {
        $code = preg_replace('/[^A-Za-z0-9]/', '', $typed);
        if (preg_match('/^.{8,20}$/', $code)) {
            return $code;
        }
    }
    return null;
}

/** Text for the consumer. A repeated callback has the same id, so it enters once. */
function enter(string $channel, string $id, string $phone, string $code): string
{
    // Africa's Talking waits 15 seconds. Dialled again, the same code and phone get the same submission.
    $client = new Client(getenv('BASE'), getenv('KEY'), 'sw', budget: 12.0, timeout: 10.0);
    $entry = ['phone' => $phone, 'code' => $code, 'consent' => true, 'consent_version' => getenv('TERMS'), 'channel' => $channel];
    return $client->createSubmission($entry, "at-$channel-$id")['message'];
}

/** `text` has all that was typed in the session, the short way of dialling included: `*149*46*CODE#`. */
function answerUssd(array $call): string
{
    $typed = explode('*', $call['text']);
    $code = codeIn(end($typed));
    try {
        return $code === null ? 'CON ' . ASK : 'END ' . enter('ussd', $call['sessionId'], $call['phoneNumber'], $code);
    } catch (ApiError $error) {
        error_log($error->getMessage());
        return 'END ' . SORRY;
    }
}

function answerSms(array $call): void
{
    $keyword = preg_quote((string) getenv('KEYWORD'), '/');
    $code = codeIn(preg_replace("/^\s*$keyword\b/i", '', $call['text']));
    try {
        $text = $code === null ? ASK : enter('sms', $call['id'], $call['from'], $code);
    } catch (ApiError $error) {
        error_log($error->getMessage());
        if ($error->retryAfter !== null) {
            http_response_code(503); // Sent again by Africa's Talking.
            return;
        }
        $text = SORRY;
    }
    sendSms($call['from'], $text);
}

function sendSms(string $to, string $text): void
{
    $request = curl_init((getenv('AT_URL') ?: 'https://api.africastalking.com') . '/version1/messaging');
    $fields = ['username' => getenv('AT_USERNAME'), 'from' => getenv('SENDER'), 'to' => $to, 'message' => $text];
    curl_setopt_array($request, [
        CURLOPT_HTTPHEADER => ['apiKey: ' . getenv('AT_KEY'), 'Accept: application/json'],
        CURLOPT_POSTFIELDS => http_build_query($fields),
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 10,
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
