// Trades the token in the link for the cookie, and takes it out of the address bar and the history.
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname);
const reply = await fetch('/session', { method: 'POST', body: token });
// A link that is opened again in the browser that has the cookie opens the console, too.
const isOpen = reply.ok || (await fetch('/')).ok;
if (isOpen) location.replace('/');
else document.getElementById('state').textContent = await reply.text();
