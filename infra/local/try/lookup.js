// A phone's entries.

import { Problem } from './problems.js';
import { element, shownStatus } from './result.js';
import { shownDay, word } from './words.js';

const $ = (id) => document.getElementById(id);

/** Latest entries whose prizes are asked for. */
const MAX_PRIZES = 5;

/** Lists a phone's entries, unless `signal` is aborted first. */
export async function lookUp(phone, api, campaign, language, signal) {
  $('found').replaceChildren();
  if (phone.length < 9) throw new Problem('phone', 'phone_invalid');
  const { submissions, total_entries: total } = await api.lookup(phone, language);
  // The list has a win's message, the entry its prize.
  const wins = submissions.filter(({ message }) => message === campaign.messages.instant_win);
  const won = await Promise.allSettled(wins.slice(0, MAX_PRIZES).map(({ id }) => api.submission(id, language)));
  const prizes = new Map(won.filter(({ value }) => value).map(({ value }) => [value.id, value.instant_win]));
  if (signal.aborted) return;
  const list = element('ul');
  list.append(...submissions.map((entry) => row(entry, prizes.get(entry.id), language)));
  const sum = submissions.length ? word(language, 'total', { n: total }) : word(language, 'no_entries');
  $('found').replaceChildren(element('p', sum), list);
}

function row({ date, ref, display_status: status, message }, prize, language) {
  const item = element('li');
  item.append(element('strong', word(language, prize ? 'won' : shownStatus(status))));
  if (prize) item.append(' ', element('strong', prize));
  item.append(element('br'), `${shownDay(language, date)} · ${ref}`, element('br'), message);
  return item;
}
