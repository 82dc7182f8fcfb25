<?php
require __DIR__ . '/client.php';

$client = new CampaignEntry\Client(getenv('BASE'), getenv('KEY'));
// One for each press of the button. Store it with what was typed, so that you can send it again after a crash.
$attempt = $client::newAttempt();
$entry = ['phone' => '0715 345 678', 'code' => 'TEST-0-VALID.3', 'consent' => true];
try {
    $submission = $client->createSubmission($entry, $attempt);
    if (!$submission['terminal']) {
        $submission = $client->waitUntilSettled($submission['id']);
    }
    echo $submission['message_key'], ' - ', $submission['message'], "\n";
} catch (CampaignEntry\ApiError $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}
