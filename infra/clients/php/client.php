<?php
// The Campaign Entry Service from PHP 8.1 with the curl extension: one file, no dependencies.
declare(strict_types=1);

namespace CampaignEntry;

/** A call that the service refused, or that got no usable reply within the client's time. */
final class ApiError extends \RuntimeException
{
    /** The service's error code, such as `phone_invalid`; empty if the reply is not the service's own. */
    public $code = '';
    public ?string $field;
    /** Every field at fault, each with `field` and `message`. */
    public array $errors;
    /** What to change, for developers. */
    public ?string $fix;

    /** `$status` is 0 without a reply. Seconds in `$retryAfter`: after them the same call can succeed. */
    public function __construct(
        public readonly int $status,
        string $text,
        public readonly string $requestId,
        public readonly ?float $retryAfter = null,
    ) {
        $error = json_decode($text, true);
        $error = is_array($error) && is_array($error['error'] ?? null) ? $error['error'] : [];
        $word = fn (string $name) => is_string($error[$name] ?? null) ? $error[$name] : null;
        $this->code = $word('code') ?? '';
        $this->field = $word('field');
        $this->fix = $word('fix');
        $own = $this->field === null ? [] : [['field' => $this->field, 'message' => $word('message')]];
        $this->errors = is_array($error['errors'] ?? null) ? $error['errors'] : $own;
        $told = $this->code === '' ? substr($text, 0, 200) : "$this->code: " . $word('message');
        parent::__construct(($status === 0 ? 'no reply' : (string) $status) . ": $told (request $requestId)");
    }
}

/** A delivery that none of your secrets signed, or that is too old. Reply with status 400. */
final class WebhookError extends \RuntimeException
{
}

/**
 * Every method returns the reply as an array; unknown keys and values are kept. Outcomes for consumers are replies,
 * not errors. Lost connections, 409, 429, 5xx and torn replies are sent again, unchanged, within `$budget` seconds.
 */
class Client
{
    /** In seconds; a delivery has a new time for each try. */
    private const WEBHOOK_TOLERANCE = 300;

    public function __construct(
        private readonly string $baseUrl,
        #[\SensitiveParameter] private readonly string $key,
        /** `en` or `sw`: the language of messages. */
        private readonly string $locale = 'en',
        /** For a call with all its retries. */
        private readonly float $budget = 25.0,
        /** For one try. A partner takes up to 8 seconds to judge a code. */
        private readonly float $timeout = 12.0,
    ) {
        if (!preg_match('/^[\x21-\x7e]+$/D', $key)) {
            throw new \InvalidArgumentException('the key has a character that no key has, such as a line end');
        }
    }

    /** A new Idempotency-Key. Store it with what the consumer typed, and use it for every try of that entry. */
    public static function newAttempt(): string
    {
        return bin2hex(random_bytes(16));
    }

    public function getCampaign(): array
    {
        return $this->call('GET', '/api/v1/campaign');
    }

    /** `$clientIp`: the consumer's address; without it the limits count your server. */
    public function checkCode(#[\SensitiveParameter] array $body, ?string $clientIp = null): array
    {
        return $this->call('POST', '/api/v1/codes/check', $body, clientIp: $clientIp);
    }

    /** Enters a consumer. `$entry` has `phone`, `consent` and what the campaign needs of `code` and `receipt_id`. */
    public function createSubmission(#[\SensitiveParameter] array $entry, string $attempt): array
    {
        return $this->call('POST', '/api/v1/submissions', $entry, $attempt);
    }

    public function getSubmission(string $id): array
    {
        return $this->call('GET', '/api/v1/submissions/' . rawurlencode($id));
    }

    public function lookupSubmissions(#[\SensitiveParameter] array $body, ?string $clientIp = null): array
    {
        return $this->call('POST', '/api/v1/submissions/lookup', $body, clientIp: $clientIp);
    }

    /** With `$attempt`, the same receipt comes back when this is sent again. */
    public function createReceipt(#[\SensitiveParameter] array $receipt, ?string $attempt = null): array
    {
        return $this->call('POST', '/api/v1/receipts', $receipt, $attempt);
    }

    public function refreshUploadUrl(string $receiptId): array
    {
        return $this->call('POST', '/api/v1/receipts/' . rawurlencode($receiptId) . '/upload-url');
    }

    public function getReceipt(string $id): array
    {
        return $this->call('GET', '/api/v1/receipts/' . rawurlencode($id));
    }

    /** Polls until the submission is decided. Returns it undecided if `$budget` seconds are not enough. */
    public function waitUntilSettled(string $id, float $budget = 60.0): array
    {
        $until = $this->now() + $budget;
        for (;;) {
            $submission = $this->getSubmission($id);
            $wait = $submission['poll_after_seconds'] ?? null;
            if ($wait === null || $this->now() + $wait > $until) {
                return $submission;
            }
            $this->pause((float) $wait);
        }
    }

    /**
     * The event of a webhook's delivery. `$body` is `file_get_contents('php://input')`, since a parsed body has lost its
     * signature; `$headers` is `getallheaders()`. While a secret rotates, pass both. Secrets with `whpk_` need the sodium
     * extension. An event can arrive twice, with the same `webhook-id`, and after one of a higher `revision`.
     */
    public static function verifyWebhook(string $body, array $headers, #[\SensitiveParameter] array $secrets, ?int $now = null): array
    {
        $keys = array_map(self::webhookKey(...), $secrets);
        $headers = array_change_key_case($headers);
        $header = fn (string $name) => implode(' ', array_filter((array) ($headers["webhook-$name"] ?? ''), is_string(...)));
        [$id, $sent, $signatures] = array_map($header, ['id', 'timestamp', 'signature']);
        if ($id === '' || $signatures === '' || !preg_match('/^\d{1,12}$/D', $sent)) {
            throw new WebhookError('webhook: a header is missing or malformed');
        }
        if (abs(($now ?? time()) - (int) $sent) > self::WEBHOOK_TOLERANCE) {
            throw new WebhookError('webhook: not sent within five minutes; is the clock right?');
        }
        foreach (explode(' ', $signatures) as $signature) {
            [$version, $text] = explode(',', $signature, 2) + ['', ''];
            $bytes = (string) base64_decode($text, true);
            foreach ($keys as [$keyVersion, $key]) {
                if ($version === $keyVersion && self::isSignature($bytes, $version, $key, "$id.$sent.$body")) {
                    return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
                }
            }
        }
        throw new WebhookError('webhook: no signature matches; is the body as it arrived, and the secret of this endpoint?');
    }

    /** Version of its signatures, and bytes. */
    private static function webhookKey(#[\SensitiveParameter] string $secret): array
    {
        [$prefix, $text] = explode('_', $secret, 2) + ['', ''];
        $key = (string) base64_decode($text, true);
        return match (true) {
            $prefix === 'whsec' && strlen($key) >= 24 => ['v1', $key],
            $prefix === 'whpk' && strlen($key) === 32 => ['v1a', $key],
            default => throw new \InvalidArgumentException('a webhook secret begins with whsec_ or whpk_; this one is not whole'),
        };
    }

    private static function isSignature(string $bytes, string $version, #[\SensitiveParameter] string $key, string $message): bool
    {
        return $version === 'v1'
            ? hash_equals(hash_hmac('sha256', $message, $key, true), $bytes)
            : strlen($bytes) === 64 && sodium_crypto_sign_verify_detached($bytes, $message, $key);
    }

    private function call(string $method, string $path, #[\SensitiveParameter] ?array $body = null, ?string $attempt = null, ?string $clientIp = null): array
    {
        $requestId = self::newAttempt();
        $headers = array_filter([
            'Authorization' => "Bearer $this->key",
            'Content-Type' => $body === null ? null : 'application/json',
            'Idempotency-Key' => $attempt,
            'SVC-Client-IP' => $clientIp,
            'X-Request-Id' => $requestId,
        ], fn ($value) => $value !== null);
        $text = $body === null ? null : json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
        $until = $this->now() + $this->budget;
        for ($try = 0; ; $try++) {
            $seconds = min($this->timeout, max(1.0, $until - $this->now()));
            [$status, $retryAfter, $reply] = $this->send($method, "$this->baseUrl$path?locale=$this->locale", $headers, $text, $seconds);
            $value = $status === 200 ? json_decode($reply, true) : null;
            if (is_array($value) && !($value !== [] && array_is_list($value))) {
                return $value;
            }
            $canRetry = in_array($status, [0, 200, 409, 429], true) || $status >= 500;
            $wait = max($retryAfter ?? 0.0, min(8.0, 0.25 * 2 ** $try) * random_int(500, 1000) / 1000);
            if (!$canRetry || $this->now() + $wait >= $until) {
                throw new ApiError($status, $reply, $requestId, $canRetry ? $wait : null);
            }
            $this->pause($wait);
        }
    }

    /** One try: status (0 without a reply), seconds of `Retry-After`, and the body or why there is none. */
    protected function send(string $method, string $url, #[\SensitiveParameter] array $headers, #[\SensitiveParameter] ?string $body, float $seconds): array
    {
        $retryAfter = null;
        $request = curl_init($url);
        curl_setopt_array($request, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => array_map(fn ($name, $value) => "$name: $value", array_keys($headers), $headers),
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT_MS => (int) ($seconds * 1000),
            CURLOPT_HEADERFUNCTION => function ($request, $line) use (&$retryAfter) {
                if (preg_match('/^retry-after:\s*(\d+)\s*$/i', $line, $found)) {
                    $retryAfter = (float) $found[1];
                }
                return strlen($line);
            },
        ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => $body]));
        $text = curl_exec($request);
        return $text === false
            ? [0, null, curl_error($request)]
            : [curl_getinfo($request, CURLINFO_HTTP_CODE), $retryAfter, $text];
    }

    protected function now(): float
    {
        return hrtime(true) / 1e9;
    }

    protected function pause(float $seconds): void
    {
        usleep((int) ($seconds * 1e6));
    }
}
