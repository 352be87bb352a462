import { expect } from '@jest/globals';
import { choose, press, tabTo, turn, write, type Stroke } from './keyboard.js';
import { game, type Write } from './writes.js';

/** Every change of rules that the console offers, in this order: later ones change what earlier ones made. */
export const ruleWrites: readonly Write[] = [
  {
    name: 'sets a limit in coins, and what one operation may cost',
    at: game,
    strokes: () => [
      press('Set a limit'),
      write('Name', 'Coins'),
      choose('For', 'each'),
      choose('Of', 'coins'),
      write('At most', '0.5'),
      write('Most that one operation may cost, in coins', '0.01'),
      choose('Begins again', 'each week'),
      write('Time zone whose midnight counts', 'Europe/Berlin'),
      press('Save'),
    ],
    says: 'The limit “Coins” counts from now on.',
    path: '/policies/keys-coins',
    want: {
      spec: {
        spendingLimit: {
          scope: 'SMART_ACCOUNT',
          thresholdType: 'NATIVE_ASSET',
          threshold: '0.5',
          perOperation: '0.01',
          calendar: { every: 'week', timeZone: 'Europe/Berlin' },
        },
      },
    },
  },
  {
    name: 'sets what one operation may cost alone',
    at: game,
    strokes: () => [
      press('Set a limit'),
      write('Name', 'Each'),
      choose('Of', 'coins'),
      write('Most that one operation may cost, in coins', '0.02'),
      press('Save'),
    ],
    says: 'The limit “Each” refuses an operation that may cost more than 0.02.',
    path: '/policies/keys-each',
    want: {
      spec: { spendingLimit: { scope: 'PAYMASTER', thresholdType: 'NATIVE_ASSET', perOperation: '0.02' } },
    },
  },
  {
    name: 'changes a limit',
    at: game,
    strokes: () => [
      press('Change Coins'),
      write('New threshold, instead of 0.5', '0.25'),
      write('Most that one operation may cost, in coins', '0.005'),
      choose('What does not fit', 'count'),
      choose('Begins again', 'never'),
      press('Save'),
    ],
    says: '“Coins” allows 0.25 from now on. One operation may cost 0.005. It counts alone',
    path: '/policies/keys-coins',
    want: {
      spec: {
        enforcement: 'Shadow',
        spendingLimit: { threshold: '0.25', perOperation: '0.005', never: {} },
      },
    },
  },
  {
    name: 'takes the threshold of a limit away',
    at: game,
    strokes: () => [press('Change Coins'), write('New threshold, instead of 0.25', ''), press('Save')],
    says: '“Coins” does not count from now on. One operation may cost 0.005.',
    path: '/policies/keys-coins',
    want: { spec: { spendingLimit: { scope: 'SMART_ACCOUNT', perOperation: '0.005' } } },
  },
  {
    name: 'makes a webhook',
    at: game,
    strokes: ({ hostUrl }) => [
      press('Add a rule of another kind'),
      choose('Kind', 'Webhook'),
      write('Name', 'Members'),
      write('URL', `${hostUrl}/check`),
      choose('When it does not answer', 'let'),
      press('Save'),
    ],
    says: '“Members” decides from now on.',
    path: '/policies/keys-members',
    want: { spec: { webhook: { onError: 'Allow' } } },
  },
  {
    name: 'tries a webhook',
    at: game,
    strokes: () => [press('Send a test to Members')],
    says: /“Members” verified after \d+ ms. An operation would pass./,
    path: '/policies/keys-members',
    want: { spec: { webhook: { onError: 'Allow' } } },
  },
  {
    name: 'changes a webhook',
    at: game,
    strokes: ({ hostUrl }) => [
      press('Change Members'),
      write('URL', `${hostUrl}/moved`),
      choose('When it does not answer', 'refuse'),
      press('Save'),
    ],
    says: '“Members” is changed.',
    path: '/policies/keys-members',
    want: { spec: { webhook: { url: expect.stringMatching(/moved$/), onError: 'Deny' } } },
  },
  {
    name: 'makes a time window that belongs to a campaign',
    at: game,
    strokes: () => [
      press('Add a rule of another kind'),
      choose('Kind', 'Time'),
      write('Name', 'Winter'),
      // As the keyboard types it in the browser's language: month, day, year, hour, minute.
      typed('Closes (left empty: no bound)', '01012099\t1200AM'),
      choose('For', 'both'),
      choose('What does not fit', 'count'),
      write('Campaign (left empty: all requests)', 'winter'),
      press('Save'),
    ],
    says: '“Winter” decides from now on.',
    path: '/policies/keys-winter',
    want: {
      spec: {
        policyType: 'WINDOW',
        enforcement: 'Shadow',
        campaign: 'winter',
        window: { until: '2099-01-01T00:00:00.000Z', appliesTo: ['SPONSORED', 'ERC20'] },
      },
    },
  },
  {
    name: 'changes a window, and sends nothing else',
    at: `${game}?change=keys-winter`,
    strokes: () => [write('Campaign (left empty: all requests)', ''), press('Save')],
    says: '“Winter” is changed.',
    path: '/policies/keys-winter',
    want: { spec: expect.not.objectContaining({ campaign: expect.anything() }) },
  },
  {
    name: 'makes a list of accounts',
    at: game,
    strokes: ({ wallet }) => [
      press('Add a rule of another kind'),
      choose('Kind', 'List'),
      write('Name', 'Banned'),
      choose('Accounts in the list', 'are refused'),
      write('Accounts, one in a line', wallet.address),
      press('Save'),
    ],
    says: '“Banned” decides from now on.',
    path: '/policies/keys-banned',
    want: ({ wallet }) => ({ spec: { senders: { action: 'Deny', addresses: [wallet.address] } } }),
  },
  {
    name: 'makes an expression',
    at: game,
    strokes: () => [
      press('Add a rule of another kind'),
      choose('Kind', 'Expression'),
      write('Name', 'Single'),
      write('Condition in CEL, such as size(calls) == 1', 'size(calls) == 1'),
      turn(/are judged, too/),
      press('Save'),
    ],
    says: '“Single” decides from now on.',
    path: '/policies/keys-single',
    want: { spec: { expression: { text: 'size(calls) == 1', allowNoCalls: true } } },
  },
  {
    name: 'permits the deployment of wallets',
    at: game,
    strokes: () => [
      press('Add a rule of another kind'),
      choose('Kind', 'Deployment'),
      write('Name', 'New'),
      press('Save'),
    ],
    says: '“New” decides from now on.',
    path: '/policies/keys-new',
    want: { spec: { policyType: 'WALLET_DEPLOYMENT' } },
  },
  {
    name: 'deletes a policy',
    at: game,
    strokes: () => [press('Delete Banned'), press('Delete')],
    says: '“Banned” is deleted.',
    path: '/policies/keys-banned',
    want: {},
  },
  {
    name: 'pauses a policy',
    at: game,
    strokes: () => [press('Pause Members'), press('Pause')],
    says: '“Members” is paused: it no longer decides.',
    path: '/policies/keys-members',
    want: { spec: { active: false } },
  },
  {
    name: 'resumes a policy',
    at: game,
    strokes: () => [press('Resume Members')],
    says: '“Members” is active again.',
    path: '/policies/keys-members',
    want: { spec: expect.not.objectContaining({ active: false }) },
  },
];

const typed =
  (name: string, keys: string): Stroke =>
  async (page) => {
    await tabTo(page, name);
    for (const key of keys) await page.keyboard.press(key === '\t' ? 'Tab' : key);
  };
