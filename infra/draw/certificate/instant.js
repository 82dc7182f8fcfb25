// Shows the result of `verifyPlan`.

const SUBJECT = 'plan';
const FOLLOWS = 'the moments follow from';
const MAX_SHOWN = 1_000;

const utc = (millis) => new Date(millis).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
const givenAt = () => utc(found.givenAt);

async function compute(rows) {
  $('checks').replaceChildren();
  $('rehearsal').hidden = page.chain === null && page.header.includes(`"chain":"${QUICKNET}"`);
  try {
    found = await verifyPlan({ ...page, rows }, page.chain, reportCheck);
  } catch (error) {
    if (!(error instanceof Difference)) console.error(error);
    $('proof').open = true;
    return verdict('different', `These instant prizes do NOT hold. First difference: ${error.message}.`);
  }
  showFound();
  verdict('follows', `Each of ${sum(found.result.given)} prizes went to the first eligible entry after a moment that could not be chosen, among ${found.rows.length} `
    + `entries. Now compare both below: a commitment that was copied before ${givenAt()}, and the beacon's signature. ${found.warnings.join(' ')}`);
}

function lookUp() {
  if (found === null) return answer('inclusion-answer', false, 'This page has not verified the plan yet.');
  const at = Date.parse($('accepted-at').value.trim());
  if (Number.isNaN(at)) return answer('inclusion-answer', false, 'This is not a time, such as 2026-12-24T09:12:52.038Z.');
  const own = found.rows.findIndex((row) => row.at === at);
  if (own < 0) return answer('inclusion-answer', false, 'No entry of the list was accepted then. The time has to be exact, as the reply has it.');
  const { prize, back } = found.rows[own];
  const won = prize === null ? 'won nothing' : `won ${found.header.prizes[prize]}${back === null ? '' : `, which was taken back at ${utc(back)}`}`;
  answer('inclusion-answer', true, `Line ${own + 1} of the list was accepted then, and ${won}.`);
}

function showWinners() {
  const winners = found.rows.filter(({ prize }) => prize !== null);
  const rows = winners.slice(0, MAX_SHOWN).map(({ at, prize, back }) => {
    const taken = back === null ? '' : `taken back at ${utc(back)}`;
    return element('tr', ...[utc(at), found.header.prizes[prize], taken].map((text) => element('td', text)));
  });
  $('winners').replaceChildren(table('Prizes that were won', [['Time ', swahili('Wakati')], ['Prize ', swahili('Zawadi')], ''], rows));
  if (winners.length > MAX_SHOWN) $('winners').append(element('p', `rows.csv has ${winners.length - MAX_SHOWN} more.`));
  $('winners-section').hidden = false;
}

function showFound() {
  const { header, result, moments, commitment } = found;
  $('prizes').textContent = header.prizes.map((prize, at) => `${result.given[at]} of ${moments[at].length} × ${prize}`).join(', ');
  $('commitment').textContent = commitment.match(/.{1,4}/g).join(' ');
  $('signature').textContent = result.signature;
  $('round-address').textContent = roundAddress(header);
  document.querySelectorAll('.given-at').forEach((item) => item.replaceChildren(givenAt()));
  const facts = {
    'Campaign, by its key': `${header.campaign}, ${header.environment}`,
    'Days': `${header.days.length}, from ${utc(header.days[0].from * 1000)} to ${utc(header.days.at(-1).to * 1000)}`,
    'Most prizes of one entrant': `${header.caps.day} a day, ${header.caps.total} in all`,
    'Times in which nothing could be won': result.stops.map(({ from, to }) => `${utc(from)} to ${utc(to)}`).join('; ') || 'none',
    'Days as they were logged; compare them with your copies': result.days.map(({ day, sha256: said, logged_at: at }) => `day ${day}, ${utc(at)}: ${said}`).join('; ') || 'none',
    'Warnings': found.warnings.join(' ') || 'none',
    'Other plans of this campaign that were published': result.other_plans.join('; ') || 'none',
    'Beacon chain': header.chain, 'Round': header.round, 'Time of the round': givenAt(), 'Randomness': result.randomness,
    'Secret': found.secret, 'Seed': hexOf(found.seed), 'Algorithm': header.algorithm, 'Plan, byte for byte': page.header,
  };
  showFacts(facts);
  showWinners();
}

listen('copied-form', compareCommitment);
listen('signature-form', compareSignature);
listen('inclusion-form', lookUp);
begin('rows.csv');
