import { expect } from '@jest/globals';
import type { Wallet } from 'ethers';
import { anAbi } from '../../build/resources.js';
import { choose, pick, press, sees, tabTo, turn, write, type Stroke } from './keyboard.js';

export const game = 'paymaster/keys';
type Write = {
  readonly name: string;
  readonly at: string;
  readonly strokes: (around: Around) => readonly Stroke[];
  readonly says: string | RegExp | ((around: Around) => string);
  /** Where it must be seen, and what. */
  readonly path: string;
  readonly want: object | ((around: Around) => object);
};

/** What is made while the test runs. */
type Around = {
  readonly hostUrl: string;
  readonly contract: string;
  readonly wallet: Pick<Wallet, 'address' | 'signMessage'>;
};

/** Every change that the console offers, in this order: later ones change what earlier ones made. */
export const writes: readonly Write[] = [
  {
    name: 'creates a paymaster',
    at: 'paymaster',
    strokes: () => [
      press('Create a paymaster'),
      sees('Step 1'),
      write('Name', 'Keys'),
      press('Continue'),
      sees('Step 2'),
      pick(/^None yet/),
      press('Continue'),
      sees('Step 3'),
      pick(/^No limit/),
      press('Continue'),
      sees('Step 4'),
      press('Continue'),
      sees('Step 5'),
      press('Create'),
    ],
    says: '“Keys” is created.',
    path: '/paymasters/keys',
    want: { spec: { name: 'Keys', defaultContractAction: 'Deny' } },
  },
  {
    name: 'registers a contract by its ABI, and chooses a method',
    at: `${game}?tab=contracts`,
    strokes: ({ contract }) => [
      press('Register a contract'),
      write('Name', 'Game'),
      write('Address', contract),
      write('ABI, as JSON', anAbi),
      turn('mint'),
      press('Save'),
    ],
    says: 'Calls of mint are paid for.',
    path: '/contracts/keys-game',
    want: { spec: { whitelistedMethods: ['mint'] } },
  },
  {
    name: 'changes the methods of a contract',
    at: `${game}?tab=contracts`,
    strokes: () => [press('Change Game'), turn('mint'), press('Save')],
    says: 'Of “Game” calls of no method are paid for.',
    path: '/contracts/keys-game',
    want: { spec: { whitelistedMethods: [] } },
  },
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
  {
    name: 'suspends a paymaster',
    at: game,
    strokes: () => [press(/^Suspend Keys/), press('Suspend')],
    says: '“Keys” is suspended: it sponsors nothing until it is resumed.',
    path: '/paymasters/keys',
    want: { spec: { suspended: true } },
  },
  {
    name: 'resumes a paymaster',
    at: game,
    strokes: () => [press(/^Resume Keys/), press('Resume')],
    says: '“Keys” sponsors again.',
    path: '/paymasters/keys',
    want: { spec: expect.not.objectContaining({ suspended: true }) },
  },
  {
    name: 'pauses the only contract, once the page has said what that ends',
    at: `${game}?tab=contracts`,
    strokes: () => [
      press('Pause Game'),
      sees('Calls of its methods are no longer paid for.'),
      press('Pause'),
      sees('its calls are refused'),
      press('Resume Game'),
    ],
    says: '“Game” is active again.',
    path: '/contracts/keys-game',
    want: { spec: expect.not.objectContaining({ active: false }) },
  },
  {
    name: 'changes the wallet that pays by a pasted signature',
    at: `${game}?tab=money`,
    strokes: ({ wallet }) => [
      press('Change it by a signature from elsewhere'),
      press('Get the message'),
      sees('It can be used until'),
      write('Address of the wallet', wallet.address),
      signedBy(wallet),
      press('Save'),
    ],
    says: ({ wallet }) => `${wallet.address} pays from now on.`,
    path: '/paymasters/keys',
    want: ({ wallet }) => ({ spec: { funding: { address: wallet.address } } }),
  },
  {
    name: 'gives a paymaster a new apiKey',
    at: `${game}?tab=connect`,
    strokes: () => [
      press('Give it a new apiKey'),
      choose('The present one works for', 'an hour'),
      press('Save'),
      press('Give a new apiKey'),
    ],
    says: /It has a new apiKey. The one before works until/,
    path: '/paymasters/keys',
    want: { spec: { keyGeneration: 2 } },
  },
  {
    name: 'makes a token',
    at: 'tokens',
    strokes: () => [press('Make a token'), write('Name', 'robot'), turn(/^read:/), press('Save')],
    says: '“robot” is made.',
    path: '/tokens',
    want: { items: [{ name: 'robot', scopes: ['read'] }] },
  },
  {
    name: 'revokes a token',
    at: 'tokens',
    strokes: () => [press('Revoke robot'), press('Revoke')],
    says: '“robot” is revoked',
    path: '/tokens',
    want: { items: [] },
  },
];

const typed =
  (name: string, keys: string): Stroke =>
  async (page) => {
    await tabTo(page, name);
    for (const key of keys) await page.keyboard.press(key === '\t' ? 'Tab' : key);
  };

const signedBy =
  (wallet: Around['wallet']): Stroke =>
  async (page) => {
    const message = await page.locator('form pre').innerText();
    await write('Signature', await wallet.signMessage(message))(page);
  };
