import { createServer } from "node:http";
import { ApiError, Client, newAttempt } from "./client.mjs";

const OWN = {
  en: { phone: "Mobile number", code: "Code on the pack", send: "Send", again: "Another entry", ref: "Reference",
    consent: "I agree that my number is used for this campaign." },
  sw: { phone: "Namba ya simu", code: "Namba ya kwenye pakiti", send: "Tuma", again: "Tuma nyingine",
    ref: "Namba ya kumbukumbu", consent: "Nakubali namba yangu ya simu itumike kwa ajili ya kampeni hii." },
};
const TEXTS = { phone: "phone_invalid", code: "code_required", consent: "consent_required" };
const clients = Object.fromEntries(Object.keys(OWN).map((locale) =>
  [locale, new Client({ baseUrl: process.env.BASE, key: process.env.KEY, locale })]));
// With several servers, keep sessions in a store that they share.
const sessions = new Map();

/** The submission of this form. The same form sent twice has the same key, so it is one entry. */
function enter(session, form, client) {
  const body = { phone: form.get("phone"), code: form.get("code"), consent: form.has("consent") };
  if (JSON.stringify(session.attempt?.body) !== JSON.stringify(body)) session.attempt = { key: newAttempt(), body };
  return client.createSubmission(body, session.attempt.key);
}

/** The page after this request: the form, its errors by field, or the submission. */
async function page(request, session, language) {
  const client = clients[language];
  const campaign = await client.getCampaign();
  const show = (errors, submission) => render(language, campaign, session, errors, submission);
  try {
    if (request.method === "POST") {
      let text = "";
      for await (const part of request) text += part;
      const form = new URLSearchParams(text);
      session.id = (await enter(session, form, client)).id;
      return null; // Redirect, so that a reload sends nothing.
    }
    if (!session.id) return show({});
    return show({}, await client.getSubmission(session.id));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const marked = error.errors.filter(({ field }) => field in TEXTS);
    if (marked.length > 0) return show(Object.fromEntries(marked.map(({ field }) => [field, campaign.messages[TEXTS[field]]])));
    console.error(error.message);
    return show({ form: campaign.messages.service_unavailable });
  }
}

const escape = (text) => String(text ?? "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function render(language, campaign, session, errors, submission) {
  const own = OWN[language];
  const { body = {} } = session.attempt ?? {};
  const told = (field) => (errors[field] ? `<strong id="${field}-error">${escape(errors[field])}</strong>` : "");
  const input = (field, type) => `<p><label>${own[field]} <input name="${field}" type="${type}" value="${escape(body[field])}"></label> ${told(field)}`;
  const waits = submission && !submission.terminal;
  const result = submission && `<h2>${escape(submission.message)}</h2><p>${own.ref}: ${submission.ref}`;
  return `<!doctype html><html lang="${language}"><meta charset="utf-8"><link rel="icon" href="data:,">
    ${waits ? `<meta http-equiv="refresh" content="${submission.poll_after_seconds}">` : ""}
    <title>${escape(campaign.name)}</title><h1>${escape(campaign.name)}</h1>
    ${result ? `${result}<form method="get"><button name="again">${own.again}</button></form>` : `<form method="post">
      ${told("form")} ${input("phone", "tel")} ${campaign.capabilities.code_required ? input("code", "text") : ""}
      <p><label><input name="consent" type="checkbox"> ${escape(campaign.consent?.text ?? own.consent)}</label> ${told("consent")}
      <p><button>${own.send}</button></form>`}</html>`;
}

createServer(async (request, response) => {
  const known = /(?:^|; )entry=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
  const cookie = sessions.has(known) ? known : newAttempt();
  const again = request.url.includes("?again");
  if (!sessions.has(cookie) || again) sessions.set(cookie, {});
  response.setHeader("Set-Cookie", `entry=${cookie}; HttpOnly; SameSite=Lax`);
  const language = /^sw\b/i.test(request.headers["accept-language"] ?? "") ? "sw" : "en";
  try {
    const text = again ? null : await page(request, sessions.get(cookie), language);
    if (text === null) response.writeHead(303, { Location: "/" }).end();
    else response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(text);
  } catch (error) {
    console.error(error.message);
    response.writeHead(503, { "Content-Type": "text/plain" }).end("Try again later.\n");
  }
}).listen(process.env.PORT ?? 8000, "127.0.0.1");
