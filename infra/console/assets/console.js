// Optional behaviour of every page; without it, all pages work.

// A button that asks for a typed word is off until the word is right.
for (const field of document.querySelectorAll('input[data-word]')) {
  const button = field.form.querySelector('button');
  const check = () => (button.disabled = field.value.trim() !== field.dataset.word);
  field.addEventListener('input', check);
  check();
}

// A form that is too long is not sent: what was typed would be lost.
for (const told of document.querySelectorAll('[data-most]')) {
  told.form = told.closest('form');
  told.form.addEventListener('submit', (event) => {
    const sent = new URLSearchParams(new FormData(told.form, event.submitter)).toString();
    told.hidden = sent.length <= Number(told.dataset.most);
    if (told.hidden) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    told.scrollIntoView();
  });
}

// Sending a form twice would do a thing twice. A download and a window leave their page as it is.
for (const form of document.querySelectorAll('form:not([data-download], [method=dialog])')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'sent';
  });
}
// What a download changed is shown once it has begun.
for (const form of document.querySelectorAll('form[data-reload]')) {
  form.addEventListener('submit', () => setTimeout(() => location.reload(), 1500));
}
// A page that the browser kept is shown again after going back.
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// A long form is used while someone types, so the console stays open.
const KEEP_OPEN_MS = 60_000;
for (const form of document.querySelectorAll('form[data-keep]')) {
  let last = Date.now();
  form.addEventListener('input', () => {
    if (Date.now() - last < KEEP_OPEN_MS) return;
    last = Date.now();
    fetch('/console.js', { cache: 'no-store' }).catch(() => {});
  });
}

// The slash goes to the search, as on other sites.
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const field = document.getElementById('what');
  if (field) field.focus();
  else location.assign('/search');
});

// A secret that is shown once is copied whole.
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = 'Copied';
  });
}

// A list is read on to its end, step by step.
document.querySelector('form[data-on]')?.requestSubmit();

// Work that goes on shows how far it is.
if ('renewed' in document.body.dataset) setTimeout(() => location.reload(), 2000);
