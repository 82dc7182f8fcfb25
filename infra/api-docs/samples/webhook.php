<?php
require __DIR__ . '/client.php';

try {
    // While a secret rotates, the variable has both, with a space between.
    $secrets = preg_split('/\s+/', trim(getenv('WEBHOOK_SECRET')));
    $event = CampaignEntry\Client::verifyWebhook(file_get_contents('php://input'), getallheaders(), $secrets);
} catch (CampaignEntry\WebhookError $error) {
    http_response_code(400);
    exit($error->getMessage());
}
if ($event['type'] === 'test.ping') { // it has no submission
    error_log('test.ping');
    http_response_code(204);
    exit;
}
['id' => $id, 'revision' => $revision, 'state' => $state] = $event['data'];
// Here you store it. An event that comes twice, or late, changes nothing:
//   INSERT INTO decisions (id, state, revision) VALUES (:id, :state, :revision) ON CONFLICT (id)
//   DO UPDATE SET state = :state, revision = :revision WHERE decisions.revision <= :revision
error_log("{$event['type']} $id $state, revision $revision");
http_response_code(204);
