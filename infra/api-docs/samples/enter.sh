curl "$BASE/api/v1/submissions" \
  -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' \
  -H 'Idempotency-Key: third-of-the-overview' \
  -d '{"phone": "0722 345 678", "code": "TEST-0-VALID.5", "consent": true}'
