const reply = await fetch(`${process.env.BASE}/api/v1/submissions`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.KEY}`,
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(), // keep it for retries of this attempt
  },
  body: JSON.stringify({ phone: "0714 345 678", code: "TEST-0-VALID.2", consent: true }),
});
const body = await reply.json();
console.log(reply.ok ? body.message : `${body.error.code}: ${body.error.fix}`);
