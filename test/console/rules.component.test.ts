import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { until } from '../support/until.js';
import { violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';

// The card "Rules" of a paymaster: every kind of rule, what it says now, what is left, and when that changes.

const { connection, open, page: pageOf } = useConsole('rules');
const soon = '2099-01-01T00:00:00.000Z';
let page: Page;
/** An account for which an operation was sponsored. */
let sender: string;

beforeAll(async () => {
  page = pageOf();
  await seed();
}, 300_000);

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

/** A paymaster with a policy of every kind, of which two operations were asked for. */
async function seed(): Promise<void> {
  const { chainId, sponsoredContract } = connection();
  await manage('POST', 'paymasters', {
    name: 'ruled',
    spec: { name: 'Ruled', chainId, type: 'HYBRID', version: '1.1.0' },
  });
  const paymasterRef = { name: 'ruled' };
  const contract = { paymasterRef, name: 'Game', address: sponsoredContract.address, abi: anAbi };
  await manage('POST', 'contracts', { name: 'game', spec: { ...contract, whitelistedMethods: ['mint'] } });
  const limit = { scope: 'PAYMASTER', thresholdType: 'COUNT', cycleDuration: { value: 1, unit: 'day' } };
  const op = freshUserOp(connection());
  sender = String(op['sender']);
  const policies = {
    all: { policyType: 'PAYMASTER_SA_LIMIT', spendingLimit: { ...limit, threshold: '10' } },
    each: {
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: { scope: 'SMART_ACCOUNT', thresholdType: 'COUNT', threshold: '5', never: {} },
    },
    trial: {
      policyType: 'PAYMASTER_SA_LIMIT',
      enforcement: 'Shadow',
      spendingLimit: { ...limit, threshold: '0' },
    },
    hook: { policyType: 'WEBHOOK', enforcement: 'Shadow', webhook: { url: 'http://127.0.0.1:9/check' } },
    deploy: { policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} },
    open: { policyType: 'WINDOW', window: { until: soon } },
    guests: { policyType: 'SENDERS', senders: { action: 'Allow', addresses: [sender] } },
    cheap: { policyType: 'EXPRESSION', expression: { text: 'size(calls) == 1' } },
  };
  for (const [name, spec] of Object.entries(policies))
    await manage('POST', 'policies', { name: `ruled-${name}`, spec: { paymasterRef, name, ...spec } });

  const { key } = (await manage('GET', 'paymasters/ruled/key')) as { key: string };
  const callData = String(op['callData']).replace('d09de08a', '6a627842');
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  await until('an operation is sponsored', async () => {
    const { result } = await rpc(rpcUrlFor(connection(), key), 'pm_sponsorUserOperation', [
      { ...op, callData },
      mode,
    ]);
    return /^0x[0-9a-f]{100}/.test(String(result?.['paymasterAndData']));
  });
}

const rowOf = (name: RegExp) => page.getByRole('table', { name: 'Rules' }).getByRole('row', { name });
const cellsOf = async (name: RegExp): Promise<readonly string[]> =>
  rowOf(name).locator('td').allTextContents();

async function show(): Promise<void> {
  await open('paymaster/ruled');
  await page.getByRole('heading', { name: 'Ruled' }).waitFor();
  await rowOf(/^Contracts/).waitFor();
}

describe('of a real paymaster', () => {
  test('has a row for every kind of rule, with what is left, when that changes, and what only counts', async () => {
    await show();
    const moment = expect.stringMatching(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/);
    const sponsored = 'sponsored operations';
    const never = 'not by itself';
    expect(await cellsOf(/^all /)).toEqual([
      'all Spending limit',
      'by operation',
      '0 operations used and 1 operation promised of 10 operations',
      '9 operations',
      moment,
      'yes',
      sponsored,
    ]);
    const rows: Readonly<Record<string, readonly unknown[]>> = {
      Contracts: ['Contracts ', 'by operation', 'the listed methods of 1 contract pass', '–', never, 'yes'],
      each: [
        'each Spending limit',
        'by operation',
        'at most 5 operations for each account',
        '–',
        never,
        'yes',
      ],
      trial: [
        'trial Spending limit',
        'refuse',
        '0 operations used and 1 operation promised of 0 operations',
        '0 operations',
        moment,
        'Shadow: counts alone',
      ],
      hook: [
        'hook Webhook',
        'by operation',
        'asks 127.0.0.1:9, and refuses when that does not answer',
        '–',
        never,
        'Shadow: counts alone',
      ],
      Deployment: ['Deployment of wallets ', 'by operation', expect.any(String), '–', never, 'yes'],
      open: ['open Window', 'pass', expect.stringContaining('2099'), '–', '2099-01-01 00:00:00', 'yes'],
      guests: ['guests Senders', 'by operation', 'serves 1 account alone', '–', never, 'yes'],
      cheap: ['cheap Expression', 'by operation', 'size(calls) == 1', '–', never, 'yes'],
    };
    for (const [name, cells] of Object.entries(rows))
      expect(await cellsOf(new RegExp(`^${name} `))).toEqual([...cells, sponsored]);
    expect(await page.getByRole('table', { name: 'Rules' }).locator('tbody tr').count()).toBe(9);
    expect(await violationsOf(page)).toEqual([]);
  });

  test('shows the share of the account that is asked about', async () => {
    await show();
    await page.getByLabel('Of limits per account, show the share of').fill(sender);
    await rowOf(/^each .*4 operations/).waitFor();
    expect((await cellsOf(/^each /))[2]).toBe(
      `0 operations used and 1 operation promised of 5 operations for ${sender.toLowerCase()}`,
    );
    await page.getByLabel('Of limits per account, show the share of').fill('');
    await rowOf(/^each .*for each account/).waitFor();
  });

  test('says now what has changed since', async () => {
    await show();
    await manage('POST', 'policies/ruled-guests/suspend');
    await rowOf(/^guests /).waitFor({ state: 'detached' });
    await manage('POST', 'policies/ruled-guests/resume');
    await rowOf(/^guests /).waitFor();
  });
});

describe('with answers that are made up', () => {
  const card = () => page.getByRole('region', { name: 'Rules' });
  const rule = {
    policyType: 'PAYMASTER_SA_LIMIT',
    enforcement: 'Enforce',
    appliesTo: ['SPONSORED', 'ERC20'],
    says: 'at most 10 operations',
  };

  /** Another page of the browser, of which `answer` answers what rules there are. */
  async function answered(
    answer: (route: Route) => Promise<void>,
    check: () => Promise<void>,
  ): Promise<void> {
    await open('paymaster/ruled', { answers: (opened) => opened.route('**/rules', answer) });
    await card().waitFor();
    await check();
  }

  test('says what to do while nothing decides', () =>
    answered(
      (route) => route.fulfill({ json: { data: { items: [], nextCursor: null } } }),
      async () => {
        await card().getByText('Nothing decides yet. Register a contract, then set a limit.').waitFor();
        expect(await violationsOf(page)).toEqual([]);
      },
    ));

  test('shows the error of the server, and no rule', () =>
    answered(
      (route) => route.fulfill({ status: 404, json: { detail: 'It is not served yet.' } }),
      async () => {
        await card().getByRole('alert').getByText('It is not served yet.').waitFor();
        expect(await card().getByRole('table').count()).toBe(0);
        expect(await violationsOf(page)).toEqual([]);
      },
    ));

  test('shows 1,000 rules, and names both modes and the campaign', async () => {
    const rules = Array.from({ length: 1_000 }, (_, index) => ({
      ...rule,
      name: `limit ${index}`,
      campaign: 'summer',
    }));
    await answered(
      (route) => route.fulfill({ json: { data: { items: rules, nextCursor: null } } }),
      async () => {
        const rows = card().locator('tbody tr');
        await rows.nth(999).waitFor({ state: 'attached' });
        expect(await rows.count()).toBe(1_000);
        const cells = await rows.nth(999).locator('td').allTextContents();
        expect([cells[0], cells.at(-1)]).toEqual([
          'limit 999 Spending limit, campaign summer',
          'sponsored operations and payments in tokens',
        ]);
      },
    );
  });
});
