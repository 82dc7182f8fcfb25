<?php
// Lets the generated PHP client read replies, and prints those that it refuses.
// usage: read.php CLIENT REPLIES.json
spl_autoload_register(function (string $class) use ($argv): void {
    require "$argv[1]/lib/" . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class) . '.php';
});
set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
foreach (json_decode(file_get_contents($argv[2])) as $reply) {
    try {
        $read = OpenAPI\Client\ObjectSerializer::deserialize($reply->value, "\\OpenAPI\\Client\\Model\\$reply->schema");
        foreach ($read->listInvalidProperties() as $problem) {
            echo "$reply->where: $problem\n";
        }
    } catch (Throwable $error) {
        echo "$reply->where: ", $error->getMessage(), "\n";
    }
}
