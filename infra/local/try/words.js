// The page's own words; the service has an entry's.

const en = {
  title: 'Try a campaign',
  skip: 'Skip to the form',
  product: 'Campaign Entry Service',
  language: 'Language',
  docs: 'API reference',
  loading: 'Loading…',
  unreachable: 'No connection',
  none: 'There is no campaign to try',
  none_what: 'This stack was started with --no-demo. Start it without, and the demo campaigns are here.',

  bench: 'What to try',
  campaign: 'Campaign',
  key: 'Key',
  test_key: 'Test',
  live_key: 'Live',
  code_samples: 'Sample codes',
  receipt_samples: 'Sample receipts',
  samples_closed: 'Nothing can be sent to this campaign now, so there are no samples.',
  calls: 'API calls',
  calls_what: 'The page’s own server adds the key. The photo goes straight to storage.',
  events: 'Send decisions to this page’s server, as a webhook',
  sent: 'Sent',
  received: 'Received',

  code: 'Code on the pack',
  code_hint: 'Capitals, spaces and dashes do not matter.',
  receipt: 'Receipt',
  receipt_optional: 'Receipt, if you have one',
  photo_kind: 'Photo',
  typed_kind: 'Type it in',
  photo: 'Take or choose a photo',
  photo_hint: 'The whole receipt, sharp, with its QR code.',
  photo_ready: 'The photo is ready.',
  qr: 'Test receipt',
  qr_hint: 'Tests only: what the QR code is to say. It decides the outcome, not the photo.',
  receipt_code: 'Verification code',
  receipt_time: 'Time on the receipt',
  phone: 'Mobile number',
  consent: 'I agree that my number is used for this campaign.',
  consent_receipt: 'I agree that my number and my receipt are used for this campaign.',
  send: 'Send',
  sending: 'Sending…',
  retry: 'Try again',
  uploading: 'Sending the photo',
  cancel: 'Cancel',
  again: 'Send another entry',
  limit_daily: 'Up to {n} entries a day per phone number.',
  limit_total: 'Up to {n} entries in total per phone number.',
  limit_both: 'Up to {daily} entries a day and {total} in total per phone number.',
  offer: 'Products and shops that take part',

  entered: 'Entered',
  won: 'You have won!',
  checking: 'Being checked',
  receipt_in_review: 'In review',
  not_accepted: 'Not accepted',
  needs_attention: 'Action needed',
  other_status: 'Your entry',
  earlier: 'You sent this before. This is its result.',
  wait_code: 'This usually takes seconds; in rare cases a day.',
  wait_receipt: 'This usually takes seconds, but up to two days when the shop has not reported the sale yet. You can close this page and look under “My entries” later.',
  wait_review: 'A person looks at your receipt, which can take some days. You can close this page and look under “My entries” later.',
  reference: 'Reference',
  earned: 'Entries',
  prize: 'Prize',
  bought: 'Receipt',

  entries_title: 'My entries',
  show: 'Show',
  no_entries: 'No entries for this number yet.',
  total: 'Entries in all: {n}',

  photo_missing: 'Choose a photo of the receipt.',
  photo_again: 'Choose the photo again: it was not sent before this page was loaded anew.',
  receipt_code_wrong: 'Enter the code below the QR code: 6 to 40 characters.',
  receipt_time_wrong: 'Enter the time as on the receipt, such as 10:15:30.',
  wrong_key: 'Test codes and test receipts work with the test key only.',
  too_many: 'Too many tries. Wait {n} seconds and try again.',
  offline: 'There was no connection. Nothing is lost: try again.',
  offline_waiting: 'There is no connection. Your entry will be sent when the network is back. Keep this page open.',
  cancelled: 'The photo was not sent, and nothing was entered.',
  failed: 'Something went wrong here. Nothing is lost: try again.',
  refused: 'This did not work ({code}). If it happens again, tell us the number {request}.',
};

const sw = {
  title: 'Jaribu kampeni',
  skip: 'Nenda kwenye fomu',
  product: 'Huduma ya Kampeni',
  language: 'Lugha',
  docs: 'Mwongozo wa API',
  loading: 'Inapakia…',
  unreachable: 'Hakuna mtandao',
  none: 'Hakuna kampeni ya kujaribu',
  none_what: 'Seva hii imeanzishwa kwa --no-demo. Ianzishe bila hiyo, na kampeni za majaribio zitakuwa hapa.',

  bench: 'Cha kujaribu',
  campaign: 'Kampeni',
  key: 'Ufunguo',
  test_key: 'Majaribio',
  live_key: 'Halisi',
  code_samples: 'Namba za mfano',
  receipt_samples: 'Risiti za mfano',
  samples_closed: 'Kampeni hii haipokei ushiriki kwa sasa, kwa hiyo hakuna mifano.',
  calls: 'Maombi ya API',
  calls_what: 'Seva ya ukurasa ndiyo inayoongeza ufunguo. Picha huenda moja kwa moja kwenye hifadhi.',
  events: 'Tuma maamuzi kwa seva ya ukurasa huu, kama webhook',
  sent: 'Kilichotumwa',
  received: 'Kilichopokelewa',

  code: 'Namba ya kwenye pakiti',
  code_hint: 'Unaweza kuandika kwa herufi kubwa au ndogo, na au bila nafasi na vistari.',
  receipt: 'Risiti',
  receipt_optional: 'Risiti, kama unayo',
  photo_kind: 'Picha',
  typed_kind: 'Andika',
  photo: 'Piga au chagua picha',
  photo_hint: 'Risiti yote, inayosomeka vizuri, pamoja na msimbo wake wa QR.',
  photo_ready: 'Picha iko tayari.',
  qr: 'Risiti ya majaribio',
  qr_hint: 'Kwa majaribio tu: maneno ya msimbo wa QR. Hayo ndiyo yanayoamua matokeo, si picha.',
  receipt_code: 'Namba ya uhakiki',
  receipt_time: 'Saa iliyo kwenye risiti',
  phone: 'Namba ya simu',
  consent: 'Nakubali namba yangu ya simu itumike kwa ajili ya kampeni hii.',
  consent_receipt: 'Nakubali namba yangu ya simu na risiti yangu zitumike kwa ajili ya kampeni hii.',
  send: 'Tuma',
  sending: 'Inatuma…',
  retry: 'Jaribu tena',
  uploading: 'Picha inatumwa',
  cancel: 'Ghairi',
  again: 'Tuma nyingine',
  limit_daily: 'Hadi mara {n} kwa siku kwa kila namba ya simu.',
  limit_total: 'Hadi mara {n} kwa jumla kwa kila namba ya simu.',
  limit_both: 'Hadi mara {daily} kwa siku na mara {total} kwa jumla kwa kila namba ya simu.',
  offer: 'Bidhaa na maduka yanayoshiriki',

  entered: 'Umeingia',
  won: 'Umeshinda!',
  checking: 'Inahakikiwa',
  receipt_in_review: 'Risiti inakaguliwa na mtu',
  not_accepted: 'Haikukubaliwa',
  needs_attention: 'Tafadhali angalia hapa',
  other_status: 'Ushiriki wako',
  earlier: 'Ulishatuma hii. Haya ndiyo matokeo yake.',
  wait_code: 'Kwa kawaida huchukua sekunde chache; mara chache huchukua siku moja.',
  wait_receipt: 'Kwa kawaida huchukua sekunde chache, lakini huweza kuchukua hadi siku mbili duka likichelewa kutuma taarifa ya mauzo. Unaweza kufunga ukurasa huu na kuangalia baadaye kwenye “Ushiriki wangu”.',
  wait_review: 'Mtu anakagua risiti yako; inaweza kuchukua siku kadhaa. Unaweza kufunga ukurasa huu na kuangalia baadaye kwenye “Ushiriki wangu”.',
  reference: 'Namba ya kumbukumbu',
  earned: 'Nafasi za kushinda',
  prize: 'Zawadi',
  bought: 'Risiti',

  entries_title: 'Ushiriki wangu',
  show: 'Onyesha',
  no_entries: 'Namba hii ya simu bado haijashiriki.',
  total: 'Nafasi kwa jumla: {n}',

  photo_missing: 'Chagua picha ya risiti.',
  photo_again: 'Chagua picha tena: haikutumwa kabla ya ukurasa huu kufunguliwa upya.',
  receipt_code_wrong: 'Weka namba iliyo chini ya msimbo wa QR: herufi 6 hadi 40.',
  receipt_time_wrong: 'Weka saa kama ilivyo kwenye risiti, kama 10:15:30.',
  wrong_key: 'Namba na risiti za majaribio hufanya kazi kwa ufunguo wa majaribio tu.',
  too_many: 'Umejaribu mara nyingi mno. Subiri sekunde {n} kisha ujaribu tena.',
  offline: 'Hakukuwa na mtandao. Hakuna kilichopotea: jaribu tena.',
  offline_waiting: 'Hakuna mtandao. Fomu yako itatumwa mtandao ukirudi. Usifunge ukurasa huu.',
  cancelled: 'Picha haikutumwa, na ushiriki wako haujapokelewa.',
  failed: 'Kuna tatizo upande wetu. Hakuna kilichopotea: jaribu tena.',
  refused: 'Haikuwezekana ({code}). Ikitokea tena, tuambie namba hii: {request}.',
};

export const LANGUAGES = { en, sw };

/** A text in a language, with `{name}` filled in. */
export function word(language, name, values = {}) {
  return LANGUAGES[language][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

/** Shows `2026-11-23` as 23 Nov, with the year unless it is this one. */
export function shownDay(language, day) {
  const year = day.startsWith(`${new Date().getFullYear()}-`) ? undefined : 'numeric';
  const parts = { day: 'numeric', month: 'short', year, timeZone: 'UTC' };
  return new Date(day).toLocaleDateString(language === 'sw' ? 'sw-TZ' : 'en-GB', parts);
}

/** Fills in every text that the document names. */
export function translate(language) {
  document.documentElement.lang = language;
  document.title = word(language, 'title');
  for (const element of document.querySelectorAll('[data-word]')) {
    element.textContent = word(language, element.dataset.word);
  }
  for (const element of document.querySelectorAll('[data-word-label]')) {
    element.setAttribute('aria-label', word(language, element.dataset.wordLabel));
  }
}
