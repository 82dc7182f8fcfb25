import { createServer } from "node:http";
import { verifyWebhook, WebhookError } from "./client.mjs";

// While a secret rotates, the variable has both, with a space between.
const secrets = process.env.WEBHOOK_SECRET.trim().split(/\s+/);

createServer(async (request, response) => {
  try {
    const body = [];
    for await (const part of request) body.push(part);
    const { type, data } = await verifyWebhook(Buffer.concat(body), request.headers, secrets);
    if (type === "test.ping") { // it has no submission
      console.log(type);
      return response.writeHead(204).end();
    }
    const { id, revision, state } = data;
    // Here you store it. An event that comes twice, or late, changes nothing:
    //   INSERT INTO decisions (id, state, revision) VALUES (:id, :state, :revision) ON CONFLICT (id)
    //   DO UPDATE SET state = :state, revision = :revision WHERE decisions.revision <= :revision
    console.log(`${type} ${id} ${state}, revision ${revision}`);
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookError)) console.error(error);
    response.writeHead(error instanceof WebhookError ? 400 : 500).end();
  }
}).listen(process.env.PORT ?? 8001, "127.0.0.1");
