// The result of an entry, as the consumer sees it.

import { shownDay, word } from './words.js';

const $ = (id) => document.getElementById(id);

/** Later statuses are shown like `other_status`. */
const MARKS = { entered: '✓', checking: '…', receipt_in_review: '…', not_accepted: '×', needs_attention: '!' };

/**
 * Field to correct by `message_key`; the form keeps the rest for the next try. `form`
 * means waiting alone. Every other key is final for this entry.
 */
const CORRECTIONS = {
  invalid: 'code',
  already_used: 'code',
  code_held: 'code',
  receipt_unreadable: 'receipt',
  receipt_not_uploaded: 'receipt',
  receipt_wrong_store: 'receipt',
  receipt_outside_window: 'receipt',
  receipt_no_qualifying_product: 'receipt',
  receipt_already_used: 'receipt',
  receipt_not_found: 'receipt',
  receipt_time_mismatch: 'time',
  rate_limited: 'form',
  service_unavailable: 'form',
};

/** Part to correct: `code`, `receipt`, `time` or `form`, if any. */
export const toCorrect = ({ state, message_key: key }) => (state === 'rejected' ? CORRECTIONS[key] : undefined);

export const shownStatus = (status) => (status in MARKS ? status : 'other_status');

/** Shows an entry with the service's message, which unknown keys have too. */
export function renderResult(submission, campaign, language) {
  const prize = submission.instant_win;
  const status = shownStatus(submission.display_status);
  $('result').dataset.status = status;
  $('result').classList.toggle('win', Boolean(prize));
  $('result').querySelector('.badge').textContent = prize ? '★' : MARKS[status] ?? '·';
  $('result-title').textContent = word(language, prize ? 'won' : status);
  $('result-prize').hidden = !prize;
  $('result-prize').textContent = prize ?? '';
  $('result-message').textContent = submission.message;
  $('result-wait').hidden = submission.terminal;
  $('result-wait').textContent = submission.terminal ? '' : word(language, waitOf(submission));
  $('result-earlier').hidden = !submission.replayed;
  renderFacts(submission, campaign, language);
}

/** Tells how long it can take, up to two days. */
function waitOf({ display_status: status, message_key: key }) {
  if (status === 'receipt_in_review') return 'wait_review';
  return key === 'receipt_received' ? 'wait_receipt' : 'wait_code';
}

function renderFacts({ ref, entries, receipt }, campaign, language) {
  const branch = campaign.receipt?.branches.find(({ key }) => key === receipt?.branch);
  const bought = receipt && [receipt.date && shownDay(language, receipt.date), branch?.name, receipt.items_summary].filter(Boolean).join(' · ');
  const facts = [['reference', ref], ['earned', entries || null], ['bought', bought]];
  $('result-facts').replaceChildren(
    ...facts.filter(([, value]) => value).flatMap(([name, value]) => [
      element('dt', word(language, name)),
      element('dd', value),
    ]),
  );
}

export function element(name, text = '') {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
