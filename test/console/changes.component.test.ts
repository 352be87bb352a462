import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from '@jest/globals';
import { getBytes, id } from 'ethers';
import { anAbi } from '../build/resources.js';
import { until } from '../support/until.js';
import { dashboard, freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { contrastsOf, violationsOf } from './support/browser.js';
import { agree, useConsole } from './support/console.js';
import { askForThree } from './support/three-operations.js';
import { newWallet } from '../support/new-wallet.js';

// What somebody changes in the console, followed to the next operation.

const { connection, open, visit, cookies } = useConsole('changes');
beforeAll(() => askForThree(connection()));

const offered = 'What would that have refused in the last 7 days?';

test('the playground explains an operation and changes nothing', async () => {
  const { page, faults } = await open('playground');
  await page.getByRole('textbox').fill(JSON.stringify(freshUserOp(connection())));
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('It would be sponsored.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('textbox').fill('{');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('This is not JSON').waitFor();
  expect(faults).toEqual([]);
});

test('what-if says what a change would have refused', async () => {
  const { page, faults } = await open('what-if');
  await page.getByRole('button', { name: 'Begin with an example' }).click();
  // It names this organisation and its paymaster, so that only its figure is changed here.
  const text = page.getByRole('textbox');
  await until('the example is there', async () => (await text.inputValue()).includes('threshold: "5"'));
  await text.fill((await text.inputValue()).replace('threshold: "5"', 'threshold: "1"'));
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('heading', { name: 'Would be refused' }).waitFor();
  expect(await page.getByRole('region', { name: 'Result' }).textContent()).toMatch(/Would be refused[1-9]/);
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('before a limit is lowered its form says what that would have refused in a week and whom first, and then lowers it', async () => {
  const { page, faults } = await open('paymaster/shop');
  await page.getByRole('button', { name: 'Change operations per day' }).click();
  const form = page.locator('form', { has: page.getByLabel('New threshold, instead of') });
  await form.getByLabel('New threshold, instead of').fill('1');
  await form.getByRole('button', { name: offered }).click();
  const judged = form.getByRole('region', { name: 'What it would have refused' });
  await judged
    .getByText(/^Of 2 operations that were signed in the last 7 days it would have refused 1\./)
    .waitFor();
  // Only one of the two accounts fits.
  const first = judged.getByRole('table', { name: 'Accounts that meet it first' }).locator('tbody tr');
  expect(await first.allTextContents()).toEqual([
    expect.stringMatching(/^0x[0-9a-fA-F]{4}….*Limit reached.*operations per day/),
  ]);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  // What was said about another figure goes.
  await form.getByLabel('New threshold, instead of').fill('2');
  await judged.waitFor({ state: 'detached' });
  await form.getByRole('button', { name: offered }).click();
  await judged.getByText('it would have refused 0.').waitFor();
  await form.getByLabel('New threshold, instead of').fill('1');
  await form.getByRole('button', { name: offered }).click();
  await judged.getByRole('button', { name: 'Open it in What-if' }).click();
  await page.getByRole('heading', { name: 'What-if', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('heading', { name: 'Would be refused' }).waitFor();
  expect(await page.getByRole('region', { name: 'Result' }).textContent()).toMatch(/Would be refused[1-9]/);

  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop`);
  await page.getByRole('button', { name: 'Change operations per day' }).click();
  await form.getByLabel('New threshold, instead of').fill('1');
  await form.getByRole('button', { name: 'Save' }).click();
  // A manifest owns this one.
  await page.getByText('Commit this instead:').waitFor();
  expect(await form.locator('pre').innerText()).toMatch(/threshold: ['"]?1['"]?/);

  await page.getByText('Set a limit').click();
  const made = page.locator('form', { has: page.getByLabel('At most') });
  await made.getByLabel('Name').fill('of the console');
  await made.getByLabel('At most').fill('100');
  await made.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The limit “of the console” counts from now on.').waitFor();
  expect(await asked()).toBe('sponsored');
  await page.getByRole('button', { name: 'Change of the console' }).click();
  for (const threshold of ['0', '1000']) {
    await form.getByLabel('New threshold, instead of').fill(threshold);
    await form.getByText('The count begins anew with this change: ').waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`“of the console” allows ${threshold} from now on.`).waitFor();
    await page.getByText(/The count begins anew: \d+ of \d+ operations forgotten\./).waitFor();
    expect(await asked()).toBe(threshold === '0' ? 'refused' : 'sponsored');
  }
  await form.getByLabel('New threshold, instead of').fill('1');
  await form.getByLabel('The count').selectOption({ label: 'goes on, also when it is changed again' });
  expect(await form.getByText('The count begins anew with this change').count()).toBe(0);
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“of the console” allows 1 from now on.').waitFor();
  // The one of before counts.
  expect(await asked()).toBe('refused');
  await form.getByLabel('New threshold, instead of').fill('1000');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“of the console” allows 1000 from now on.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
});

test('a limit is made of each cycle, changed to another one, and offers the what-if before it begins to refuse', async () => {
  const { page, faults } = await open('overview');
  const { authToken } = connection();
  const limitOf = async (name: string) => {
    const answer = await fetch(`${connection().dashboardUrl}/manage/v1/policies/shop-${name}`, {
      headers: { authToken },
    });
    return ((await answer.json()) as { data: { spec: Record<string, unknown> } }).data.spec;
  };
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop`);
  await page.getByText('Set a limit').click();
  const made = page.locator('form', { has: page.getByLabel('At most') });
  for (const { cycle, fill, want } of [
    { cycle: 'hours', fill: { 'How many hours': '6' }, want: { cycleDuration: { value: 6, unit: 'hour' } } },
    {
      cycle: 'month',
      fill: { 'Time zone': 'Europe/Berlin' },
      want: { calendar: { every: 'month', timeZone: 'Europe/Berlin' } },
    },
    { cycle: 'never', fill: {}, want: { never: {} } },
  ]) {
    await made.getByLabel('Name').fill(`of ${cycle}`);
    await made.getByLabel('At most').fill('100');
    await made.getByLabel('Begins again').selectOption(cycle);
    for (const [label, text] of Object.entries(fill)) await made.getByLabel(label).fill(text);
    await made.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`The limit “of ${cycle}” counts from now on.`).waitFor();
    expect(await limitOf(`of-${cycle}`)).toMatchObject({ spendingLimit: want });
  }

  // Until the last row has come, the others may move away from the mouse.
  await page.getByRole('button', { name: 'Change of never' }).waitFor();
  const sent: string[] = [];
  page.on('response', (response) => {
    const request = response.request();
    if (request.method() === 'PATCH')
      sent.push(`${response.status()} ${request.url()} ${request.postData()}`);
  });
  await page.getByRole('button', { name: 'Change of month' }).click();
  const form = page.locator('form', { has: page.getByLabel('New threshold, instead of') });
  await form.getByLabel('New threshold, instead of').fill('0');
  await form.getByLabel('What does not fit').selectOption('Shadow');
  await form.getByLabel('Begins again').selectOption('never');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“of month” allows 0 from now on. It counts alone, and refuses nothing.').waitFor();
  const { enforcement, spendingLimit } = await limitOf('of-month');
  expect({ sent, enforcement, spendingLimit }).toEqual({
    sent: [expect.stringMatching(/^200 .*\/policies\/shop-of-month .*"enforcement":"Shadow"/)],
    enforcement: 'Shadow',
    spendingLimit: { scope: 'PAYMASTER', thresholdType: 'COUNT', threshold: '0', never: {} },
  });
  expect(await asked()).toBe('sponsored');

  const offer = form.getByRole('button', { name: offered });
  await offer.waitFor({ state: 'detached' });
  await form.getByLabel('What does not fit').selectOption('Enforce');
  await offer.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“of month” allows 0 from now on.', { exact: true }).waitFor();
  expect(await asked()).toBe('refused');
  for (const name of ['of hours', 'of month', 'of never']) {
    await page.getByRole('button', { name: `Pause ${name}` }).click();
    await agree(page, 'Pause');
    await page.getByText(`“${name}” is paused`).waitFor();
  }
  expect(await asked()).toBe('sponsored');
  expect(faults).toEqual([]);
});

test('a lost connection is shown, and goes when it is back', async () => {
  const { page, context, close } = await visit({ storageState: await cookies() });
  await page.goto(`${connection().dashboardUrl}/console/`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const lost = page.getByText('No connection since');
  await context.setOffline(true);
  await lost.waitFor();
  await context.setOffline(false);
  await lost.waitFor({ state: 'detached' });
  await close();
});

async function asked(): Promise<'refused' | 'sponsored'> {
  const own = connection();
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  const { result } = await rpc(own.rpcUrl, 'pm_sponsorUserOperation', [freshUserOp(own), mode]);
  return result?.['paymasterAndData'] === '0x' ? 'refused' : 'sponsored';
}

test('a limit is set, paused and resumed, and each next operation follows', async () => {
  const { page, faults } = await open('paymaster/shop');
  await page.getByText('Set a limit').click();
  const form = page.locator('form', { has: page.getByLabel('At most') });
  await form.getByLabel('Name').fill('only one');
  await form.getByLabel('At most').fill('1');
  await page.keyboard.press('Enter');
  await page.getByText('The limit “only one” counts from now on.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect([await asked(), await asked()]).toEqual(['sponsored', 'refused']);

  await page.getByRole('button', { name: 'Pause only one' }).click();
  await agree(page, 'Pause');
  await page.getByText('“only one” is paused').waitFor();
  expect(await asked()).toBe('sponsored');
  await page.getByRole('button', { name: 'Resume only one' }).click();
  await page.getByText('“only one” is active again').waitFor();
  expect(await asked()).toBe('refused');
  await page.getByRole('button', { name: 'Pause only one' }).click();
  await agree(page, 'Pause');
  await page.getByText('“only one” is paused').waitFor();
  expect(faults).toEqual([]);
});

test('a token is made by keyboard, shown once, works within its scopes, and is refused once it is revoked', async () => {
  const { page, faults } = await open('tokens');
  await page.getByText('Make a token').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('on-call');
  await page.getByLabel('read:').focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('“on-call” is made.').waitFor();
  const authToken = await page.locator('code.secret').innerText();
  expect(await violationsOf(page)).toEqual([]);
  const call = async (method: string, path: string) =>
    (await fetch(`${connection().dashboardUrl}/manage/v1${path}`, { method, headers: { authToken } })).status;
  expect([await call('GET', '/paymasters'), await call('POST', '/paymasters/shop/suspend')]).toEqual([
    200, 403,
  ]);
  const kept = await page.evaluate(() =>
    JSON.stringify([
      localStorage.length,
      sessionStorage.length,
      document.cookie,
      location.href,
      document.title,
    ]),
  );
  expect(kept).not.toContain(authToken);
  expect(kept).toMatch(/^\[0,0,/);

  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.locator('code.secret').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('cell', { name: 'on-call', exact: true }).waitFor();
  expect(await page.content()).not.toContain(authToken);
  await page.getByRole('button', { name: 'Revoke on-call' }).click();
  await agree(page, 'Revoke');
  await page.getByText('“on-call” is revoked').waitFor();
  expect(await call('GET', '/paymasters')).toBe(401);

  await page.goto(`${connection().dashboardUrl}/console/#/changes?kind=DashboardToken`);
  await page.getByRole('cell', { name: 'deleted DashboardToken on-call' }).waitFor();
  await page.getByRole('button', { name: 'on-call', exact: true }).first().click();
  await page.getByRole('button', { name: 'Only on-call: show all' }).waitFor();
  expect(await page.content()).not.toContain(authToken);
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('a webhook is made, tried by a test delivery, and asked about the next operation', async () => {
  const asked: string[] = [];
  const host = createServer((request, response) => {
    asked.push(request.url ?? '');
    response
      .setHeader('content-type', 'application/json')
      .end('{"arePoliciesVerified":false,"reason":"not a member"}');
  });
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const { port } = host.address() as AddressInfo;
  const { page, faults } = await open('paymaster/shop');
  await page.getByText('Add a rule of another kind').click();
  const form = page.locator('form', { has: page.getByLabel('Kind') });
  await form.getByLabel('Kind').selectOption('Webhook');
  await form.getByLabel('Name').fill('members');
  await form.getByLabel('URL').fill(`http://127.0.0.1:${port}/check`);
  await page.keyboard.press('Enter');
  await page.getByText('“members” decides from now on.').waitFor();
  await page.getByRole('button', { name: 'Send a test to members' }).click();
  await page
    .getByText(/“members” refused after \d+ ms: not a member. An operation would be refused./)
    .waitFor();
  expect(asked).toHaveLength(1);
  expect(await violationsOf(page)).toEqual([]);

  await page.getByRole('button', { name: 'Change members' }).click();
  const change = page.locator('details', { hasText: 'Change “members”' });
  await change.getByLabel('URL').fill(`http://127.0.0.1:${port}/moved`);
  await change.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“members” is changed.').waitFor();
  const tested = page.waitForResponse((response) => response.url().endsWith('/test'));
  await page.getByRole('button', { name: 'Send a test to members' }).click();
  await until('the new address is asked', () => asked.some((url) => url.startsWith('/moved')));
  await tested;
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Pause members' }).click();
  await agree(page, 'Pause');
  await page.getByText('“members” is paused').waitFor();
  expect(faults).toEqual([]);
  host.closeAllConnections();
  host.close();
});

test('a paymaster is suspended and resumed, and each next operation follows', async () => {
  const { page, faults } = await open('paymaster/shop');
  await page.getByRole('button', { name: 'Suspend shop' }).click();
  await agree(page, 'Suspend');
  await page.getByText('“shop” is suspended: it sponsors nothing').waitFor();
  expect(await asked()).toBe('refused');
  await page.getByRole('button', { name: 'Resume shop' }).click();
  await agree(page, 'Resume');
  await page.getByText('“shop” sponsors again.').waitFor();
  expect(await asked()).toBe('sponsored');
  expect(faults).toEqual([]);
});

test('a contract is registered with the methods that were chosen, and pausing the only one of an open paymaster says what that opens', async () => {
  const own = connection();
  const manage = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${own.dashboardUrl}/manage/v1/paymasters${path}`, {
      method,
      headers: { authToken: own.authToken },
      ...(body && { body: JSON.stringify(body) }),
    });
    return ((await answer.json()) as { data: { key: string } }).data;
  };
  const spec = { name: 'My Game', chainId: own.chainId, type: 'HYBRID', version: '1.1.0' };
  await manage('POST', '', { name: 'my-game', spec });
  const { key: apiKey } = await manage('GET', '/my-game/key');
  const { page, faults } = await open('paymaster');
  await page.getByRole('link', { name: 'My Game' }).click();
  await page.getByRole('link', { name: 'Contracts', exact: true }).first().click();
  await page
    .getByText('No contract is registered, so this paymaster may pay for calls of anything')
    .waitFor();
  await page.getByText('anything is sponsored').waitFor();
  await page.getByText('Register a contract').first().click();
  const form = page.locator('form', { has: page.getByLabel('ABI') });
  await form.getByLabel('Name').fill('Game');
  await form.getByLabel('Address').fill(own.sponsoredContract.address);
  await form.getByLabel('ABI').fill(anAbi);
  await form.getByLabel('mint').check();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Calls of mint are paid for.').waitFor();
  await page.getByRole('cell', { name: 'Game by tests' }).waitFor();
  const contracts = await dashboard(own, 'GET', '/smart-contract', { apiKey });
  expect(contracts.body.data).toMatchObject([{ name: 'Game', whitelistedMethods: ['mint'] }]);

  const minted = async (): Promise<unknown> => {
    const op = freshUserOp(own);
    const callData = String(op['callData']).replace('d09de08a', id('mint(address)').slice(2, 10));
    const params = [
      { ...op, callData },
      { mode: 'SPONSORED', calculateGasLimits: false },
    ];
    const { result } = await rpc(rpcUrlFor(own, apiKey), 'pm_sponsorUserOperation', params);
    return result?.['paymasterAndData'] === '0x' ? 'refused' : 'sponsored';
  };
  expect(await minted()).toBe('sponsored');
  await page.getByRole('button', { name: 'Change Game' }).click();
  const change = page.locator('details', { hasText: 'Change “Game”' });
  await change.getByLabel('mint').uncheck();
  await change.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Of “Game” calls of no method are paid for.').waitFor();
  expect(await minted()).toBe('refused');
  await page.getByRole('button', { name: 'Pause Game' }).click();
  await page.getByText('may then pay for calls of ANY contract').waitFor();
  await agree(page, 'Pause');
  await page.getByText('so calls of anything may be paid for').waitFor();
  await page.getByRole('button', { name: 'Resume Game' }).click();
  await page.getByText('“Game” is active again.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('the wallet that pays is changed by a wallet of the browser, and by a pasted signature', async () => {
  const [injected, elsewhere] = [newWallet(), newWallet()];
  const { page, context, faults, close } = await visit({ storageState: await cookies() });
  await context.exposeFunction('signed', (hex: string) => injected.signMessage(getBytes(hex)));
  await page.addInitScript((address) => {
    const { signed } = globalThis as unknown as { signed(hex: string): Promise<string> };
    const request = async ({ method, params = [] }: { method: string; params?: string[] }) =>
      method === 'eth_requestAccounts' ? [address] : signed(params[0] ?? '');
    Object.assign(globalThis, { ethereum: { request } });
  }, injected.address);
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/my-game?tab=money`);
  await page.reload();
  await page.getByRole('heading', { name: 'My Game' }).waitFor();
  await page.getByRole('button', { name: 'Change it to the wallet of this browser' }).click();
  await page.getByText(`${injected.address} pays from now on.`).waitFor();

  await page.getByText('Change it by a signature from elsewhere').click();
  await page.getByRole('button', { name: 'Get the message' }).click();
  const message = await page.locator('form pre').innerText();
  await page.getByLabel('Address of the wallet').fill(elsewhere.address);
  await page.getByLabel('Signature', { exact: true }).fill(await injected.signMessage(message));
  const form = page.locator('form', { has: page.getByLabel('Address of the wallet') });
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Signature', { exact: true }).fill(await elsewhere.signMessage(message));
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText(`${elsewhere.address} pays from now on.`).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  const { authToken } = connection();
  const shown = await fetch(`${connection().dashboardUrl}/manage/v1/paymasters/my-game`, {
    headers: { authToken },
  });
  expect(await shown.json()).toMatchObject({ data: { spec: { funding: { address: elsewhere.address } } } });
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
  await close();
});

test('an apiKey is replaced, and the one before works for a while', async () => {
  const { page, faults } = await open('overview');
  const before = (await dashboard(connection(), 'GET', '/paymaster')).body.data as {
    name: string;
    apiKey: string;
    chainId: number;
  }[];
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/my-game?tab=connect`);
  await page.getByRole('heading', { name: 'My Game' }).waitFor();
  await page.getByText('Give it a new apiKey').click();
  const form = page.locator('form', { has: page.getByLabel('The present one works for') });
  // Two new keys at once would end the one that wallets have: only the last but one overlaps.
  await form.getByRole('button', { name: 'Save' }).dblclick();
  await agree(page, 'Give a new apiKey');
  await page.getByText(/It has a new apiKey. The one before works until/).waitFor();
  // Later, too, the page does not end a key that wallets may still have.
  await form.getByRole('button', { name: 'Save' }).click();
  await agree(page, 'Give a new apiKey');
  await page.getByText(/The key before the present one works until/).waitFor();
  const after = (await dashboard(connection(), 'GET', '/paymaster')).body.data as typeof before;
  const keyOf = (all: typeof before) => all.find(({ name }) => name === 'My Game')?.apiKey ?? '';
  expect(keyOf(after)).not.toBe(keyOf(before));
  const [{ chainId } = { chainId: 0 }] = before;
  for (const key of [keyOf(before), keyOf(after)]) {
    const answer = await rpc(
      `${new URL(connection().rpcUrl).origin}/api/v1/${chainId}/${key}`,
      'pm_supportedEntryPoints',
      [],
    );
    expect(answer.error).toBeUndefined();
  }
  expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
});

test('problems are on the overview and on another page, with what to do', async () => {
  const own = connection();
  const { apiKey } = await aPaymaster('Elsewhere');
  const address = '0x00000000000000000000000000000000000000C1';
  const body = { name: 'not deployed', address, abi: anAbi, whitelistedMethods: ['mint'] };
  expect((await dashboard(own, 'POST', '/smart-contract', { apiKey, body })).status).toBe(200);
  await until('the operator has looked for its code', async () => {
    const answer = await fetch(`${connection().dashboardUrl}/manage/v1/contracts`, {
      headers: { authToken: own.authToken },
    });
    return (await answer.text()).includes('has no code');
  });
  const { page } = await open('overview');
  await page.getByRole('heading', { name: 'Problems' }).waitFor();
  await page.getByText('has no code on this chain').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'All problems' }).click();
  await page.getByRole('heading', { name: 'To be fixed' }).waitFor();
  const row = page.getByRole('row', { name: /not deployed/ });
  expect(await row.textContent()).toMatch(
    /^warning.*has no code on this chain.*Check the address, or deploy/,
  );
  expect(await page.getByRole('row', { name: /Elsewhere/ }).textContent()).toMatch(/has no active limit/);
  const runbook = row.getByRole('link', { name: /^Runbook / });
  expect(await runbook.getAttribute('href')).toMatch(/docs\/runbooks\.md#contract-without-code$/);
  expect(await violationsOf(page)).toEqual([]);
  // The object is a contract of that paymaster.
  await row.getByRole('link', { name: 'not deployed' }).click();
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor();
  await page.getByRole('cell', { name: 'not deployed by tests' }).waitFor();
  await page.getByRole('link', { name: 'Paymasters', exact: true }).first().click();
  const counted = page.getByRole('row', { name: /Elsewhere/ });
  await counted.getByRole('link', { name: /^[1-9]/ }).waitFor();
});

async function aPaymaster(name: string): Promise<{ readonly apiKey: string }> {
  const own = connection();
  const body = { name, type: 'HYBRID', chainId: own.chainId, version: '1.1.0' };
  const answer = await dashboard(own, 'POST', '/paymaster', { body });
  expect(answer.status).toBe(200);
  return answer.body.data as { apiKey: string };
}

test('a paymaster is deleted after its page has said what ends with it', async () => {
  const { page, faults } = await open('overview');
  const { authToken, dashboardUrl } = connection();
  const manage = (method: string, path: string, body?: object) =>
    fetch(`${dashboardUrl}/manage/v1/${path}`, {
      method,
      headers: { authToken },
      ...(body && { body: JSON.stringify(body) }),
    });
  const { spec } = (await (await manage('GET', 'paymasters/shop')).json()).data as { spec: object };
  const made = await manage('POST', 'paymasters', { name: 'doomed', spec: { ...spec, name: 'doomed' } });
  const address = `0x${'d0'.repeat(20)}`;
  const contract = { paymasterRef: { name: 'doomed' }, name: 'doomed nft', address, abi: anAbi };
  const has = await manage('POST', 'contracts', { name: 'doomed-nft', spec: contract });
  expect([made.status, has.status]).toEqual([201, 201]);

  await page.goto(`${dashboardUrl}/console/#/paymaster/doomed`);
  await page.getByText('Delete this paymaster').click();
  await page.getByText('the apiKey; contracts doomed-nft').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Delete “doomed” and what ends with it' }).click();
  await agree(page, 'Delete');
  await until(
    'the contract is gone',
    async () => (await manage('GET', 'contracts/doomed-nft')).status === 404,
  );
  expect((await manage('GET', 'paymasters/doomed')).status).toBe(404);
  await page.getByText('“doomed” is deleted.').waitFor();
  // The page may ask for its rules before the deletion is answered.
  expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
});
