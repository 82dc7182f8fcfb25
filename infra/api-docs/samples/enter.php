<?php
require __DIR__ . '/client.php';

// One key for each attempt. Store it with the attempt, so that you can send it again after a crash.
$attempt = bin2hex(random_bytes(16));
$body = ['phone' => '0715 345 678', 'code' => 'TEST-0-VALID.3', 'consent' => true];
try {
    $submission = call('POST', '/api/v1/submissions', $body, ['Idempotency-Key' => $attempt]);
    for ($polls = 0; !$submission['terminal'] && $polls < 5; $polls++) {
        sleep($submission['poll_after_seconds']);
        $submission = call('GET', "/api/v1/submissions/{$submission['id']}");
    }
    echo $submission['message_key'], ' - ', $submission['message'], "\n";
} catch (ApiError $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}
