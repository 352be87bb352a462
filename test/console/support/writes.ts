import { expect } from '@jest/globals';
import type { Wallet } from 'ethers';
import { anAbi } from '../../build/resources.js';
import { choose, pick, press, sees, turn, write, type Stroke } from './keyboard.js';

export const game = 'paymaster/keys';
export type Write = {
  readonly name: string;
  readonly at: string;
  readonly strokes: (around: Around) => readonly Stroke[];
  readonly says: string | RegExp | ((around: Around) => string);
  /** Where it must be seen, and what. */
  readonly path: string;
  readonly want: object | ((around: Around) => object);
};

/** What is made while the test runs. */
export type Around = {
  readonly hostUrl: string;
  readonly contract: string;
  readonly wallet: Pick<Wallet, 'address' | 'signMessage'>;
};

/** Every change that the console offers beside those of rules, in this order: later ones change what earlier ones made. */
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

const signedBy =
  (wallet: Around['wallet']): Stroke =>
  async (page) => {
    const message = await page.locator('form pre').innerText();
    await write('Signature', await wallet.signMessage(message))(page);
  };
