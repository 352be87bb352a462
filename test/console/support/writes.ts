import { expect } from '@jest/globals';
import type { Wallet } from 'ethers';
import { anAbi } from '../../build/resources.js';
import { choose, press, sees, turn, write, type Stroke } from './keyboard.js';

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
    strokes: () => [press('Create a paymaster'), write('Name', 'Keys'), press('Save')],
    says: '“Keys” is created.',
    path: '/paymasters/keys',
    want: { spec: { name: 'Keys' } },
  },
  {
    name: 'registers a contract by its ABI, and chooses a method',
    at: game,
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
    at: game,
    strokes: () => [press('Change the methods of a contract'), turn('mint'), press('Save')],
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
      press('Change a limit'),
      choose('Limit', 'Coins'),
      write('New threshold, instead of 0.5', '0.25'),
      write('Most that one operation may cost, in coins', '0.005'),
      choose('Beyond it', 'count'),
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
    strokes: () => [
      press('Change a limit'),
      choose('Limit', 'Coins'),
      write('New threshold, instead of 0.25', ''),
      press('Save'),
    ],
    says: '“Coins” does not count from now on. One operation may cost 0.005.',
    path: '/policies/keys-coins',
    want: { spec: { spendingLimit: { scope: 'SMART_ACCOUNT', perOperation: '0.005' } } },
  },
  {
    name: 'makes a webhook',
    at: game,
    strokes: ({ hostUrl }) => [
      press('Add a webhook'),
      write('Name', 'Members'),
      write('URL', `${hostUrl}/check`),
      choose('When it does not answer', 'let'),
      press('Save'),
    ],
    says: '“Members” is asked about every operation from now on.',
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
      press('Change a webhook'),
      write('Address that is asked', `${hostUrl}/moved`),
      choose('When it does not answer', 'refuse'),
      press('Save'),
    ],
    says: /“Members” asks .*\/moved from now on./,
    path: '/policies/keys-members',
    want: { spec: { webhook: { url: expect.stringMatching(/moved$/), onError: 'Deny' } } },
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
    name: 'changes the wallet that pays by a pasted signature',
    at: game,
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
    at: game,
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

const signedBy =
  (wallet: Around['wallet']): Stroke =>
  async (page) => {
    const message = await page.locator('form pre').innerText();
    await write('Signature', await wallet.signMessage(message))(page);
  };
