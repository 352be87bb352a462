import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { contrastsOf, cutIn, desktop, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees, tabTo, turn, write, type Stroke } from './support/keyboard.js';

// A paymaster by steps: what each step asks, what is kept, what is created when, and what is left of a creation that fails.

const { connection, open, visit } = useConsole('create');

/** What the host of a webhook was asked. */
const delivered: string[] = [];
const host = createServer((request, response) => {
  delivered.push(request.url ?? '');
  response.setHeader('content-type', 'application/json').end('{"arePoliciesVerified":true}');
});
let hostUrl: string;
beforeAll(async () => {
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  hostUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}/check`;
});
afterAll(() => {
  host.closeAllConnections();
  host.close();
});

const counter = JSON.parse(anAbi) as readonly object[];

/** As compilers write them. */
const files = {
  'of Foundry': { name: 'Game.json', content: { abi: counter, bytecode: { object: '0x00' } } },
  'of Hardhat': { name: 'any.json', content: { contractName: 'Game', abi: counter, bytecode: '0x00' } },
  'of solc': {
    name: 'build-info.json',
    content: {
      input: { settings: { outputSelection: { '*': { '*': ['abi'] } } } },
      output: {
        contracts: {
          'IGame.sol': { IGame: { abi: [] } },
          'Game.sol': { Game: { abi: counter }, Other: { abi: counter } },
        },
      },
    },
  },
} as const;

const fileOf = ({ name, content }: { readonly name: string; readonly content: unknown }) => ({
  name,
  mimeType: 'application/json',
  buffer: Buffer.from(JSON.stringify(content)),
});

async function read(path: string): Promise<Record<string, unknown>> {
  const { dashboardUrl, authToken } = connection();
  const response = await fetch(`${dashboardUrl}/manage/v1${path}`, { headers: { authToken } });
  return ((await response.json()) as { data?: Record<string, unknown> }).data ?? {};
}

const existing = async (noun: string): Promise<readonly string[]> =>
  ((await read(`/${noun}`))['items'] as readonly { name: string }[]).map(({ name }) => name);

/** What the page writes, in its order. A dry run writes nothing. */
function writesOf(page: Page): readonly string[] {
  const sent: string[] = [];
  const note = (request: Request): void => {
    const { pathname, search } = new URL(request.url());
    if (request.method() === 'POST' && pathname.startsWith('/manage/')) sent.push(pathname + search);
  };
  page.on('request', note);
  return sent;
}

const next = (page: Page) => page.getByRole('button', { name: 'Continue' }).click();
const step = (page: Page, title: string) =>
  page.getByRole('heading', { name: new RegExp(`^Step \\d of 5: ${title}$`) }).waitFor();

/** The steps up to the summary, by mouse. */
async function entered(page: Page, name: string, limit = '10', last = 'Webhook'): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name);
  await next(page);
  await step(page, 'Contract');
  await page.getByRole('textbox', { name: 'Address' }).fill(connection().sponsoredContract.address);
  await page.getByLabel('A file of Hardhat').setInputFiles(fileOf(files['of Foundry']));
  await page.getByLabel('mint').check();
  await next(page);
  await step(page, 'Limit');
  await page.getByLabel('Name', { exact: true }).fill('a day');
  await page.getByLabel('At most').fill(limit);
  await next(page);
  await step(page, last);
}

async function opened(): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const opening = await open('paymaster');
  await opening.page.getByRole('link', { name: 'Create a paymaster' }).click();
  await step(opening.page, 'Name and chain');
  return opening;
}

async function asked(object: string): Promise<'refused' | 'sponsored'> {
  const { key = '' } = (await read(`/paymasters/${object}/key`)) as { key?: string };
  const own = connection();
  const op = freshUserOp(own);
  const callData = String(op['callData']).replace('d09de08a', '6a627842');
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  const { result } = await rpc(rpcUrlFor(own, key), 'pm_sponsorUserOperation', [{ ...op, callData }, mode]);
  return result?.['paymasterAndData'] === '0x' ? 'refused' : 'sponsored';
}

test('nothing is created before the summary has said what, and then all of it is, with code that is filled in', async () => {
  const { page, faults } = await opened();
  const sent = writesOf(page);
  const before = await existing('paymasters');
  await page.getByText('For accounts of EntryPoint').first().waitFor();
  await entered(page, 'By mouse');
  await page.getByLabel('Ask my server').check();
  await page.getByLabel('URL').fill(hostUrl);
  await next(page);
  await step(page, 'Summary');
  const table = page.getByRole('table', { name: 'To be created' });
  expect(await table.locator('tbody tr').allTextContents()).toEqual([
    expect.stringMatching(/^Paymaster “By mouse”.*pays for nothing that is not listed.*to be created$/),
    expect.stringMatching(/^Limit “a day”At most 10 operations each day.*to be created$/),
    expect.stringMatching(/^Webhook “Webhook”Asks http.*to be created$/),
    expect.stringMatching(/^Contract “Game”At 0x.*: calls of mint are paid for.*to be created$/),
  ]);
  expect(sent).toEqual([]);
  expect(await existing('paymasters')).toEqual(before);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);

  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('“By mouse” is created.').waitFor();
  // The contract comes last: before it nothing is paid for.
  expect(sent).toEqual(
    ['paymasters', 'policies', 'policies', 'contracts'].map((noun) => `/manage/v1/${noun}`),
  );
  expect(await read('/paymasters/by-mouse')).toMatchObject({ spec: { defaultContractAction: 'Deny' } });
  const { key } = await read('/paymasters/by-mouse/key');
  for (const library of ['viem', 'permissionless', 'curl'])
    await page.getByRole('region', { name: library }).getByText(String(key)).waitFor();

  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText(/“Webhook” verified after/).waitFor();
  expect(delivered).toHaveLength(1);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  await until('what was created serves', async () => (await asked('by-mouse')) === 'sponsored');

  // Back leads to no creation that is done already.
  await page.goBack();
  await page.getByText('“By mouse” is created.').waitFor({ state: 'detached' });
  expect(await page.getByRole('button', { name: 'Create', exact: true }).count()).toBe(0);
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
});

test('the keyboard alone creates one', async () => {
  const { page, faults } = await open('paymaster');
  const paste = (text: string): Stroke => write('ABI, as JSON', text);
  const strokes: readonly Stroke[] = [
    press('Create a paymaster'),
    sees('Step 1 of 5: Name and chain'),
    sees('Version of the paymaster contract'),
    write('Name', 'By keys'),
    press('Continue'),
    sees('Step 2 of 5: Contract'),
    // Instead of the ABI, the whole file of the compiler.
    paste(JSON.stringify(files['of Hardhat'].content)),
    turn('mint'),
    press('Continue'),
    sees('Some fields are not right yet.'),
    write('Address', connection().sponsoredContract.address),
    press('Continue'),
    sees('Step 3 of 5: Limit'),
    write('Name', 'a day'),
    write('At most', '10'),
    press('Continue'),
    sees('Step 4 of 5: Webhook'),
    press('Continue'),
    sees('Step 5 of 5: Summary'),
    press('Create'),
    sees('“By keys” is created.'),
  ];
  for (const stroke of strokes) await stroke(page);
  expect(await read('/contracts/by-keys-game')).toMatchObject({
    spec: { name: 'Game', abi: JSON.stringify(counter), whitelistedMethods: ['mint'] },
  });
  expect(await read('/policies/by-keys-a-day')).toMatchObject({
    spec: { spendingLimit: { threshold: '10' } },
  });
  // Until the paymaster exists, a dry run of its contract or policy is answered with 400.
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
});

test('the first step cannot be sent before the chains are loaded', async () => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const { page } = await open('paymaster?create=chain', {
    answers: (of) =>
      of.route('**/manage/v1/chains', async (route) => {
        asked.resolve();
        await released.promise;
        await route.continue();
      }),
  });
  await asked.promise;
  await page.getByRole('heading', { name: 'Step 1 of 5' }).waitFor();
  await page.getByText('Loading…').waitFor();
  expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0);
  released.resolve();
  await page.getByRole('textbox', { name: 'Name' }).fill('Quick');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Step 2 of 5' }).waitFor();
});

test('each step begins at its heading, which has the focus', async () => {
  const { page } = await opened();
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  expect(await focused()).toBe('Step 1 of 5: Name and chain');
  await page.getByLabel('Name', { exact: true }).fill('Focused');
  await next(page);
  await step(page, 'Contract');
  expect(await focused()).toBe('Step 2 of 5: Contract');
});

test('back and forward keep what was entered, and so does a look at another page', async () => {
  const { page } = await opened();
  await entered(page, 'Kept', '12');
  await page.goBack();
  await step(page, 'Limit');
  expect(await page.getByLabel('At most').inputValue()).toBe('12');
  await page.getByLabel('Begins again').selectOption('month');
  await page.getByLabel('At most').fill('13');
  await page.goBack();
  await step(page, 'Contract');
  expect(await page.getByLabel('mint').isChecked()).toBe(true);
  expect(await page.getByLabel('ABI, as JSON').inputValue()).toBe(JSON.stringify(counter));
  await page.goForward();
  await step(page, 'Limit');
  // It was typed, and not sent.
  expect(await page.getByLabel('At most').inputValue()).toBe('13');
  expect(await page.getByLabel('Begins again').inputValue()).toBe('month');
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByRole('heading', { name: 'Changes', level: 1 }).waitFor();
  await page.goBack();
  await step(page, 'Limit');
  expect(await page.getByLabel('At most').inputValue()).toBe('13');
  // What was changed since has to be looked at again before a later step.
  expect(await page.getByRole('link', { name: /Summary/ }).count()).toBe(0);
  await page.getByRole('link', { name: /Name and chain/ }).click();
  await step(page, 'Name and chain');
  const name = () => page.getByLabel('Name', { exact: true }).inputValue();
  expect(await name()).toBe('Kept');
  await page.getByRole('button', { name: 'Begin anew' }).click();
  await until('nothing of it is left', async () => (await name()) === '');
  expect(await existing('paymasters')).not.toContain('kept');
});

describe('a mistake is shown at its field, aloud and in view', () => {
  const isAt = async (page: Page, label: string, says: RegExp): Promise<void> => {
    const control = page.getByLabel(label, { exact: true });
    const fault = page.locator('.fault').filter({ hasText: says });
    await fault.waitFor();
    await until('it has the focus', () => control.evaluate((each) => each === document.activeElement));
    expect(await control.getAttribute('aria-describedby')).toContain(await fault.getAttribute('id'));
    await page.getByRole('alert').first().waitFor();
    expect(
      await fault.evaluate((each) => {
        const { top, bottom } = each.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      }),
    ).toBe(true);
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
  };

  test('a name that is taken, one that is missing, an address and an ABI', async () => {
    const { page } = await opened();
    await page.setViewportSize({ ...desktop, height: 500 });
    await next(page);
    await isAt(page, 'Name', /^Must be given$/);
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await next(page);
    await isAt(page, 'Name', /^Must be free, and the paymaster “shop” has it$/);
    await page.getByLabel('Name', { exact: true }).fill('Faulty');
    await next(page);
    await step(page, 'Contract');
    await page.getByLabel('Name', { exact: true }).fill('Game');
    await page.getByRole('textbox', { name: 'Address' }).fill('0x12');
    await page.getByLabel('ABI, as JSON').fill(anAbi);
    await next(page);
    await isAt(page, 'Address', /^Must be an address: 0x and 40 hex digits$/);
    await page.getByLabel('A file of Hardhat').setInputFiles(fileOf({ name: 'x.json', content: { a: 1 } }));
    await page.getByText('Must be a file with an ABI in it').waitFor();
  });

  test('a limit that the server refuses', async () => {
    const { page } = await opened();
    await entered(page, 'Fraction', '0.5', 'Limit');
    await isAt(page, 'At most', /^Must be a whole number/);
  });
});

test.each(Object.entries(files))('the ABI is found in a file %s', async (_name, file) => {
  const { page } = await opened();
  await page.getByLabel('Name', { exact: true }).fill('Filed');
  await next(page);
  await step(page, 'Contract');
  await page.getByLabel('A file of Hardhat').setInputFiles(fileOf(file));
  await page.getByLabel('mint').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Game');
  expect(await page.getByLabel('ABI, as JSON').inputValue()).toBe(JSON.stringify(counter));
});

describe('a creation that fails in the middle', () => {
  test('says what exists, pays for nothing, and is tried again without a second one', async () => {
    const { page } = await opened();
    const sent = writesOf(page);
    await entered(page, 'Cut off');
    await next(page);
    // The server does it, and the answer is lost on its way.
    await page.route('**/manage/v1/policies', async (route) => {
      if (route.request().method() === 'POST') await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Only a part was created: paymaster “Cut off”.').waitFor();
    await page.getByRole('row', { name: /Paymaster “Cut off”.*exists/ }).waitFor();
    await page.getByRole('row', { name: /Limit “a day”.*not created/ }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
    expect(await asked('cut-off')).toBe('refused');
    await page.unroute('**/manage/v1/policies');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('“Cut off” is created.').waitFor();
    expect(sent.filter((path) => path.endsWith('/paymasters'))).toHaveLength(1);
    const made = [
      ...(await existing('paymasters')),
      ...(await existing('policies')),
      ...(await existing('contracts')),
    ];
    expect(made.filter((name) => name.startsWith('cut-off')).sort()).toEqual([
      'cut-off',
      'cut-off-a-day',
      'cut-off-game',
    ]);
  });

  test('leads to the field that was refused, and goes on once it is changed', async () => {
    const { page } = await opened();
    await entered(page, 'Refused');
    await next(page);
    await step(page, 'Summary');
    const problem = {
      detail: 'The contract is not right.',
      errors: [{ field: 'spec.abi', mustBe: 'better' }],
    };
    await page.route('**/manage/v1/contracts', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 400, json: problem }) : route.continue(),
    );
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('alert').getByText('The contract is not right.').waitFor();
    await page.getByRole('link', { name: 'Change the step “Contract”' }).click();
    await step(page, 'Contract');
    await page.locator('.fault').getByText('Must be better').waitFor();
    await page.getByRole('link', { name: /Name and chain/ }).click();
    await page.getByText('This exists already.').waitFor();
    await page.unroute('**/manage/v1/contracts');
    await page.getByRole('link', { name: /2\. Contract/ }).click();
    await step(page, 'Contract');
    await page.getByLabel('Name', { exact: true }).fill('Better');
    await next(page);
    await step(page, 'Summary');
    await page.getByRole('button', { name: /Create|Try again/ }).click();
    await page.getByText('“Refused” is created.').waitFor();
    expect(await existing('contracts')).toEqual(expect.arrayContaining(['refused-better']));
  });
});

test('what somebody has entered is gone for the next one who signs in in his tab', async () => {
  const { page, close } = await visit();
  const { dashboardUrl, authToken } = connection();
  const signIn = async (): Promise<void> => {
    await page.getByLabel('Token').fill(authToken);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  await page.goto(`${dashboardUrl}/console/#/paymaster?create=chain`);
  await signIn();
  await step(page, 'Name and chain');
  await page.getByLabel('Name', { exact: true }).fill('Secret project');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  await signIn();
  await step(page, 'Name and chain');
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  await close();
});

test('a link to the end of a creation neither shows an apiKey nor says that anything was created', async () => {
  const { page, faults } = await open('paymaster?create=done&of=shop');
  await page.getByRole('heading', { name: 'viem' }).waitFor();
  await page.getByRole('button', { name: 'Show the apiKey' }).waitFor();
  expect(await page.getByText('is created').count()).toBe(0);
  expect(await page.content()).not.toContain(connection().apiKey);
  await page.evaluate(() => (location.hash = '#/paymaster?create=done&of=nothing'));
  await page.getByText('There is no paymaster “nothing”.').waitFor();
  expect(faults).toEqual([]);
});

test('names in a file run as no script, and a link to a later step shows the first one', async () => {
  const { page, faults } = await open('paymaster?create=summary');
  await step(page, 'Name and chain');
  await page.getByLabel('Name', { exact: true }).fill('Scripted');
  await next(page);
  await step(page, 'Contract');
  const evil = `<img src=x onerror="document.title='run'">`;
  const abi = [{ type: 'function', name: evil, stateMutability: 'nonpayable', inputs: [], outputs: [] }];
  const content = { [evil]: { abi }, ['__proto__']: { abi }, constructor: { abi } };
  await page.getByLabel('A file of Hardhat').setInputFiles(fileOf({ name: `${evil}.json`, content }));
  await page.getByLabel(evil).first().waitFor();
  expect(await page.locator('main img').count()).toBe(0);
  expect(await page.title()).not.toBe('run');
  expect(faults).toEqual([]);
});

test.each(['light', 'dark'] as const)(
  'every step is accessible in %s, and fits at 1280 pixels, at 200 %% zoom and on a phone',
  async (colorScheme) => {
    const { page } = await open('paymaster?create=chain', { colorScheme });
    const fits = async (): Promise<void> => {
      expect(await violationsOf(page)).toEqual([]);
      for (const viewport of [desktop, { width: 640, height: 450 }, { width: 390, height: 844 }])
        expect(await cutIn(page, viewport)).toEqual([]);
      await page.setViewportSize(desktop);
    };
    await page
      .getByLabel('Name', { exact: true })
      .fill(`A paymaster with quite a long name in ${colorScheme}`);
    await fits();
    await next(page);
    await step(page, 'Contract');
    await page.getByRole('textbox', { name: 'Address' }).fill(connection().sponsoredContract.address);
    await page.getByLabel('A file of Hardhat').setInputFiles(fileOf(files['of solc']));
    await page.getByLabel('Contract in the file').waitFor();
    await fits();
    await next(page);
    await step(page, 'Limit');
    await page.getByLabel('No limit').check();
    await fits();
    await next(page);
    await step(page, 'Webhook');
    await tabTo(page, /Ask nobody/);
    await page.keyboard.press('ArrowUp');
    await page.getByLabel('URL').fill(hostUrl);
    await fits();
    await next(page);
    await step(page, 'Summary');
    await page.getByText('There is no limit').waitFor();
    await fits();
  },
);
