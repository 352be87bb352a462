import { beforeAll, expect, test } from '@jest/globals';
import { id } from 'ethers';
import { anAbi } from '../build/resources.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees, turn, write } from './support/keyboard.js';

// Why an operation was refused, and the way from there to the form that lets the next one pass.

const { connection, open, visit } = useConsole('refusals');

async function manage(method: string, path: string, body?: object): Promise<unknown> {
  const { dashboardUrl, authToken } = connection();
  const answer = await fetch(`${dashboardUrl}/manage/v1/${path}`, {
    method,
    headers: { authToken, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(`${method} ${path}: ${answer.status} ${text}`).toMatch(/: 20[01] /);
  return (JSON.parse(text) as { data: unknown }).data;
}

const burned = id('burn(uint256)').slice(2, 10);
const minted = id('mint(address)').slice(2, 10);

/** Asks for an operation that calls a method of the contract, or of `target`. */
async function ask(selector: string, target?: string): Promise<'refused' | 'sponsored'> {
  const { key } = (await manage('GET', 'paymasters/arcade/key')) as { key: string };
  const op = freshUserOp(connection());
  const own = connection().sponsoredContract.address.slice(2).toLowerCase();
  const callData = String(op['callData'])
    .replace('d09de08a', selector)
    .replace(own, target ?? own);
  const { result } = await rpc(rpcUrlFor(connection(), key), 'pm_sponsorUserOperation', [
    { ...op, callData },
    { mode: 'SPONSORED', calculateGasLimits: false },
  ]);
  return /^0x[0-9a-f]{100}/.test(String(result?.['paymasterAndData'])) ? 'sponsored' : 'refused';
}

async function refusalFor(reason: string): Promise<string> {
  let found: readonly { id: string }[] = [];
  await until(`a decision for ${reason}`, async () => {
    const path = `decisions?verdict=refused&reason=${reason}`;
    ({ items: found } = (await manage('GET', path)) as { items: typeof found });
    return found.length > 0;
  });
  return found[0]!.id;
}

beforeAll(async () => {
  const { chainId, sponsoredContract } = connection();
  const spec = { name: 'Arcade', chainId, type: 'HYBRID', version: '1.1.0', defaultContractAction: 'Deny' };
  await manage('POST', 'paymasters', { name: 'arcade', spec });
  const paymasterRef = { name: 'arcade' };
  const abi = JSON.stringify([
    ...(JSON.parse(anAbi) as object[]),
    {
      type: 'function',
      name: 'burn',
      stateMutability: 'nonpayable',
      inputs: [{ type: 'uint256' }],
      outputs: [],
    },
  ]);
  const contract = { paymasterRef, name: 'Game', address: sponsoredContract.address, abi };
  await manage('POST', 'contracts', {
    name: 'arcade-game',
    spec: { ...contract, whitelistedMethods: ['mint'] },
  });
  const spendingLimit = { scope: 'PAYMASTER', thresholdType: 'COUNT', threshold: '1', never: {} };
  await manage('POST', 'policies', {
    name: 'arcade-first',
    spec: { paymasterRef, name: 'the first', policyType: 'PAYMASTER_SA_LIMIT', spendingLimit },
  });
  await until('an operation is sponsored', async () => (await ask(minted)) === 'sponsored');
  await until('the limit is reached', async () => (await ask(minted)) === 'refused');
  expect([await ask(burned), await ask(minted, 'c1'.repeat(20))]).toEqual(['refused', 'refused']);
});

test('a method that is not paid for is named, and allowed by four clicks from the activity', async () => {
  await refusalFor('METHOD_NOT_WHITELISTED');
  const { page, faults } = await open('activity?verdict=refused');
  await page
    .getByRole('row', { name: /Method not whitelisted Game\.burn/ })
    .getByRole('link', { name: /^20\d\d-/ })
    .click();
  await page.getByText('“Arcade” does not pay for Game.burn.').waitFor();
  await page.getByRole('button', { name: 'Would it pass now?' }).click();
  await page.getByRole('alert').getByText('It would still be refused: Method not whitelisted').waitFor();
  const decided = page.getByRole('region', { name: 'How it was decided' });
  expect(await decided.getByRole('listitem').count()).toBeLessThan(4);
  await decided.getByRole('button', { name: /^Show all \d+ steps$/ }).click();
  expect(await decided.getByRole('listitem').count()).toBeGreaterThan(10);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);

  await page.getByRole('link', { name: 'Allow Game.burn' }).click();
  await page.getByText('The link that led here chose burn').waitFor();
  expect(await page.getByLabel('burn').isChecked()).toBe(true);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('Of “Game” calls of mint, burn are paid for.').waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Would it pass now?' }).click();
  await page.getByText('It would still be refused: Limit reached').waitFor();
  expect(faults).toEqual([]);
});

test('a limit that is used up is named, and raised by somebody who has a keyboard alone', async () => {
  const { page, faults } = await open(`activity/${await refusalFor('LIMIT_REACHED')}`);
  await sees('The limit “the first” has not enough left for the operation.')(page);
  await press('Raise “the first”')(page);
  await sees('Change “the first”')(page);
  await write(/^New threshold/, '1000')(page);
  await press('Save')(page);
  await sees('“the first” allows 1000 from now on.')(page);
  await page.goBack();
  await press('Would it pass now?')(page);
  await sees('It would pass now.')(page);
  expect(await ask(minted)).toBe('sponsored');
  expect(faults).toEqual([]);
});

test('a contract that is not registered is registered in a form that has its address', async () => {
  const { page } = await open(`activity/${await refusalFor('CONTRACT_NOT_REGISTERED')}`);
  const address = `0x${'c1'.repeat(20)}`;
  await page.getByText(`“Arcade” pays for no call of ${address}: it is not registered.`).waitFor();
  for (const viewport of [{ width: 390, height: 844 }]) expect(await cutIn(page, viewport)).toEqual([]);
  await page.getByRole('link', { name: 'Register the contract' }).click();
  await page.getByText('The link that led here filled in the address').waitFor();
  expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(address);
});

test('a link of somebody else chooses no method without saying so, and saves nothing', async () => {
  const { page } = await open(
    'paymaster/arcade?tab=contracts&change=arcade-game&methods=mint,burn,evil,%3Cimg%3E',
  );
  const form = page.locator('details', { hasText: 'Change “Game”' });
  await form.getByRole('group').waitFor();
  expect(await form.getByRole('checkbox').count()).toBe(2);
  expect(await page.locator('main img').count()).toBe(0);
  await turn('mint')(page);
  await page.reload();
  const { spec } = (await manage('GET', 'contracts/arcade-game')) as { spec: object };
  expect(spec).toMatchObject({ whitelistedMethods: ['mint', 'burn'] });
});

test('a token that only reads is told why, and is offered no change', async () => {
  const made = (await manage('POST', 'tokens', { name: 'reader', scopes: ['read'] })) as { token: string };
  const { page, close } = await visit();
  await page.goto(`${connection().dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(made.token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const decision = await refusalFor('METHOD_NOT_WHITELISTED');
  await page.goto(`${connection().dashboardUrl}/console/#/activity/${decision}`);
  await page.getByText('“Arcade” does not pay for Game.burn.').waitFor();
  expect(await page.getByRole('link', { name: /^Allow/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Would it pass now?' }).click();
  await page.getByText('It would pass now.').waitFor();

  await manage('DELETE', 'tokens/reader');
  await page.getByText('Your session has ended: its token was revoked').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // As a link that somebody pastes into this tab; this one was used already.
  await page.evaluate(() => (location.hash = '#code=used-before'));
  await page.getByRole('alert').waitFor();
  expect(page.url()).not.toContain('code');
  await close();
});
