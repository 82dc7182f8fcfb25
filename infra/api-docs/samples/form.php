<?php // PHP 8.1 with the curl extension
use CampaignEntry\ApiError;
use CampaignEntry\Client;

require __DIR__ . '/client.php';

const OWN = [
    'en' => ['phone' => 'Mobile number', 'code' => 'Code on the pack', 'send' => 'Send', 'again' => 'Another entry',
        'ref' => 'Reference', 'consent' => 'I agree that my number is used for this campaign.'],
    'sw' => ['phone' => 'Namba ya simu', 'code' => 'Namba ya kwenye pakiti', 'send' => 'Tuma',
        'again' => 'Tuma nyingine', 'ref' => 'Namba ya kumbukumbu',
        'consent' => 'Nakubali namba yangu ya simu itumike kwa ajili ya kampeni hii.'],
];
const TEXTS = ['phone' => 'phone_invalid', 'code' => 'code_required', 'consent' => 'consent_required'];

/** The submission of this form. The same form sent twice has the same key, so it is one entry. */
function enter(array $form, Client $client): array
{
    $body = ['phone' => $form['phone'] ?? '', 'code' => $form['code'] ?? null, 'consent' => isset($form['consent'])];
    if (($_SESSION['attempt']['body'] ?? null) !== $body) {
        $_SESSION['attempt'] = ['key' => Client::newAttempt(), 'body' => $body];
    }
    return $client->createSubmission($body, $_SESSION['attempt']['key']);
}

function redirect(): void
{
    header('Location: ' . strtok($_SERVER['REQUEST_URI'], '?'), true, 303); // A reload after this sends nothing.
    exit;
}

session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax', 'use_strict_mode' => true]);
$language = preg_match('/^sw\b/i', $_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '') ? 'sw' : 'en';
$client = new Client(getenv('BASE'), getenv('KEY'), $language);
$submission = null;
$errors = [];
if (isset($_GET['again'])) {
    $_SESSION = [];
    redirect();
}
try {
    $campaign = $client->getCampaign();
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $_SESSION['id'] = enter($_POST, $client)['id'];
        redirect();
    }
    if (isset($_SESSION['id'])) {
        $submission = $client->getSubmission($_SESSION['id']);
    }
} catch (ApiError $error) {
    if (!isset($campaign)) {
        http_response_code(503);
        exit('Try again later.');
    }
    foreach ($error->errors as ['field' => $field]) {
        if (isset(TEXTS[$field])) {
            $errors[$field] = $campaign['messages'][TEXTS[$field]];
        }
    }
    if (!$errors) {
        error_log($error->getMessage());
        $errors['form'] = $campaign['messages']['service_unavailable'];
    }
}

$own = OWN[$language];
$show = fn ($text) => htmlspecialchars((string) $text);
$told = fn ($field) => isset($errors[$field]) ? "<strong id=\"$field-error\">{$show($errors[$field])}</strong>" : '';
$input = fn ($field, $type) => "<p><label>{$own[$field]} <input name=\"$field\" type=\"$type\" value=\""
    . $show($_SESSION['attempt']['body'][$field] ?? '') . "\"></label> {$told($field)}";
?>
<!doctype html><html lang="<?= $language ?>"><meta charset="utf-8"><link rel="icon" href="data:,">
<?php if ($submission && !$submission['terminal']): ?>
<meta http-equiv="refresh" content="<?= $submission['poll_after_seconds'] ?>">
<?php endif ?>
<title><?= $show($campaign['name']) ?></title><h1><?= $show($campaign['name']) ?></h1>
<?php if ($submission): ?>
<h2><?= $show($submission['message']) ?></h2><p><?= $own['ref'] ?>: <?= $submission['ref'] ?>
<form method="get"><button name="again"><?= $own['again'] ?></button></form>
<?php else: ?>
<form method="post">
<?= $told('form') ?> <?= $input('phone', 'tel') ?> <?= $campaign['capabilities']['code_required'] ? $input('code', 'text') : '' ?>
<p><label><input name="consent" type="checkbox"> <?= $show($campaign['consent']['text'] ?? $own['consent']) ?></label> <?= $told('consent') ?>
<p><button><?= $own['send'] ?></button>
</form>
<?php endif ?>
</html>
