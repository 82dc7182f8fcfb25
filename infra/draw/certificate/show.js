// What certificates of draws and of instant prizes show alike.

const $ = (id) => document.getElementById(id);
const page = JSON.parse($('draw').textContent);
/** Null until verified. */
let found = null;

/** `name.class` with children; texts are never markup. */
function element(name, ...children) {
  const [tag, className] = name.split('.');
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function swahili(text) {
  const made = element('span', text);
  made.lang = 'sw';
  return made;
}

function verdict(state, text) {
  $('verdict').dataset.state = state;
  $('verdict').textContent = text;
}

/** A check and its result, as an item of the list. */
function reportCheck(title, state, text) {
  const item = element('li', element('b', title), `: ${text} `, element('span.state', state === 'holds' ? '✓' : '✗'));
  item.dataset.state = state;
  $('checks').append(item);
}

function answer(id, holds, text) {
  $(id).dataset.state = holds ? 'holds' : 'different';
  $(id).textContent = text;
}

function compareSignature() {
  const same = found !== null && $('given-signature').value.toLowerCase().match(/[0-9a-f]{96}/)?.[0] === found.result.signature;
  answer('signature-answer', same, same ? 'It is the same signature.' : `It is NOT the same. Copy the whole signature of this round and this chain. If it still differs, this ${SUBJECT} does not hold.`);
  if (same && $('verdict').dataset.state === 'follows') {
    verdict('holds', `This ${SUBJECT} holds, if your copy of the commitment is older than ${givenAt()}: ${FOLLOWS} the commitment, and from the signature that you compared.`);
  }
}

function compareCommitment() {
  const same = $('copied').value.replace(/\s/g, '').toLowerCase() === page.commitment.trim();
  answer('copied-answer', same, same ? 'It is the same commitment.'
    : `It is NOT the same. If you copied it without a mistake, this is not the ${SUBJECT} that was committed to.`);
}

/** Scrolls if too wide. */
function table(label, heads, rows) {
  const head = element('thead', element('tr', ...heads.map((text) => element('th', ...[text].flat()))));
  const made = element('div.table', element('table', head, element('tbody', ...rows)));
  made.tabIndex = 0;
  made.setAttribute('role', 'region');
  made.setAttribute('aria-label', label);
  return made;
}

function listen(id, act) {
  $(id).addEventListener('submit', (event) => {
    event.preventDefault();
    act();
  });
}

function showFacts(facts) {
  const shown = Object.entries(facts).filter(([, value]) => value !== null);
  $('facts').replaceChildren(...shown.flatMap(([name, value]) => [element('dt', name), element('dd', String(value))]));
}

function roundAddress({ chain, round }) {
  return chain === QUICKNET ? `https://api.drand.sh/${chain}/public/${round}` : `round ${round} of the chain ${chain}`;
}

/** Computes the embedded list, or asks for its file. */
function begin(file) {
  // Paper folds nothing.
  addEventListener('beforeprint', () => ($('proof').open = true));
  const embedded = $('entries').textContent;
  if (!globalThis.crypto?.subtle) {
    verdict('stopped', 'This browser does not compute hashes for this page, so nothing was verified. Save the page and open it from your device, or run verify.py.');
  } else if (embedded) {
    compute(embedded);
  } else {
    verdict('computing', `Choose ${file} below, and this page computes the ${SUBJECT} again.`);
    $('choose-entries').hidden = false;
    $('entries-file').addEventListener('change', async ({ target }) => {
      if (!target.files[0]) return;
      verdict('computing', 'Computing …');
      try {
        await compute(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await target.files[0].arrayBuffer()));
      } catch {
        verdict('different', `This ${SUBJECT} does NOT hold. First difference: ${file} is not text.`);
      }
    });
  }
}

