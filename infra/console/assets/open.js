// Trades the token in the link for the cookie, and takes it out of the address bar and the history.
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname);
const reply = await fetch('/session', { method: 'POST', body: token });
if (reply.ok) location.replace('/');
else document.getElementById('state').textContent = await reply.text();
