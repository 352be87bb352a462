import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page, Route } from 'playwright-core';
import { readYamlDocuments } from '../../adapters/manifests/yaml.js';
import { anAbi } from '../build/resources.js';
import { freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { until } from '../support/until.js';
import { violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press } from './support/keyboard.js';

// The tab "Rules" of a paymaster, which lists every rule once, and the tab "YAML", which is what would be committed.

const { connection, open, page: pageOf } = useConsole('rules');
const soon = '2099-01-01T00:00:00.000Z';
let page: Page;
/** An account for which an operation was sponsored. */
let sender: string;

beforeAll(async () => {
  page = pageOf();
  await seed();
});

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

const rowOf = (name: RegExp): Locator =>
  page.getByRole('table', { name: 'Rules' }).getByRole('row', { name });
const cellsOf = async (name: RegExp): Promise<readonly string[]> =>
  rowOf(name).locator('td').allTextContents();

async function show(): Promise<void> {
  await open('paymaster/ruled');
  await page.getByRole('heading', { name: 'Ruled' }).waitFor();
  await rowOf(/^Contracts/).waitFor();
  // Limits are asked for apart.
  await rowOf(/^trial .*reserved/).waitFor();
}

describe('of a real paymaster', () => {
  test('has one row for every rule: what it says, what is used and left, when that resets, and what only counts', async () => {
    await show();
    const moment = expect.stringMatching(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/);
    const [none, verbs] = ['–', 'ChangePauseDelete'];
    const rows: Readonly<Record<string, readonly unknown[]>> = {
      Contracts: [
        'Contracts ',
        'the listed methods of 1 contract pass',
        none,
        none,
        none,
        'active',
        'Contracts',
      ],
      all: [
        'all Spending limit, by tests',
        'at most 10 operations each day',
        '0 and 1 reserved ',
        '9 operations',
        moment,
        'active',
        verbs,
      ],
      each: [
        'each Spending limit, by tests',
        'at most 5 operations in all for each account',
        'by account',
        none,
        'never',
        'active',
        verbs,
      ],
      trial: [
        'trial Spending limit, by tests',
        'at most 0 operations each day',
        '0 and 1 reserved ',
        '0 operations',
        moment,
        'Shadow: would refuse',
        verbs,
      ],
      hook: [
        'hook Webhook, by tests',
        'asks 127.0.0.1:9, and refuses when that does not answer',
        none,
        none,
        none,
        'Shadow: counts alone',
        `Send a test${verbs}`,
      ],
      deploy: [
        'deploy Deployment of wallets, by tests',
        expect.any(String),
        none,
        none,
        none,
        'active',
        verbs,
      ],
      open: [
        'open Time window, by tests',
        expect.stringContaining('2099'),
        none,
        none,
        '2099-01-01 00:00:00',
        'active',
        verbs,
      ],
      guests: [
        'guests List of accounts, by tests',
        'serves 1 account alone',
        none,
        none,
        none,
        'active',
        verbs,
      ],
      cheap: ['cheap Expression, by tests', 'size(calls) == 1', none, none, none, 'active', verbs],
    };
    for (const [name, cells] of Object.entries(rows))
      expect(await cellsOf(new RegExp(`^${name} `))).toEqual(cells);
    expect(await page.getByRole('table').locator('tbody tr').count()).toBe(9);
    expect(await violationsOf(page)).toEqual([]);
  });

  test('sorts by the heading that is pressed, with a mouse or a keyboard, and says in which direction', async () => {
    await show();
    const names = () => page.getByRole('table').locator('tbody td:first-child').allTextContents();
    const heading = page.getByRole('columnheader', { name: 'Rule' });
    await heading.getByRole('button').click();
    const up = await names();
    expect(up.toSorted((a, b) => a.localeCompare(b))).toEqual(up);
    expect(await heading.getAttribute('aria-sort')).toBe('ascending');
    await press('Rule')(page);
    expect(await names()).toEqual(up.toReversed());
    expect(await heading.getAttribute('aria-sort')).toBe('descending');
    // Figures begin with the largest; what has none comes last.
    await page.getByRole('button', { name: 'Used' }).click();
    expect((await names())[0]).toMatch(/^trial/);
    expect(await violationsOf(page)).toEqual([]);
  });

  test('shows the share of the account that is asked about', async () => {
    await show();
    await page.getByLabel('Of limits per account, show the share of').fill(sender);
    await rowOf(/^each .*4 operations/).waitFor();
    expect((await cellsOf(/^each /)).slice(2, 4)).toEqual(['0 and 1 reserved ', '4 operations']);
    await page.getByLabel('Of limits per account, show the share of').fill('');
    await rowOf(/^each .*by account/).waitFor();
  });

  test('is the YAML that makes the same paymaster', async () => {
    await open('paymaster/ruled?tab=yaml');
    await page.getByText('name: ruled-cheap').waitFor();
    const documents = readYamlDocuments((await page.locator('main pre').textContent()) ?? '');
    const specOf = async (path: string) => ((await manage('GET', path)) as { spec: unknown }).spec;
    const want = [
      ['Paymaster', 'ruled', await specOf('paymasters/ruled')],
      ['SmartContract', 'game', await specOf('contracts/game')],
      ['PaymasterPolicy', 'ruled-all', await specOf('policies/ruled-all')],
    ] as const;
    for (const [kind, name, spec] of want)
      expect(documents).toContainEqual({
        apiVersion: 'paymasters.dev/v1alpha1',
        kind,
        metadata: { name, namespace: 'rules' },
        spec,
      });
    expect(documents).toHaveLength(10);
  });

  test('says now what has changed since', async () => {
    await show();
    await manage('POST', 'policies/ruled-guests/suspend');
    await rowOf(/^guests .*serves 1 account.*paused/).waitFor();
    await manage('POST', 'policies/ruled-guests/resume');
    await rowOf(/^guests .*serves 1 account alone.*active/).waitFor();
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
    await open('paymaster/ruled', {
      answers: async (opened) => {
        await opened.route('**/rules', answer);
        await opened.route('**/policies?**', (route) =>
          route.fulfill({ json: { data: { items: [], nextCursor: null } } }),
        );
      },
    });
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
        expect(cells.slice(0, 2)).toEqual([
          'limit 999 Spending limit, campaign summer',
          'at most 10 operationspayments in tokens, too',
        ]);
      },
    );
  });

  test('in YAML no text of a tenant becomes anything else than this text', async () => {
    const texts = [
      'on',
      'No',
      '~',
      'null',
      '0x10',
      '1_000',
      '1e3',
      '2026-01-01',
      '190:20:30',
      '.inf',
      '<<',
      '=',
      '',
      "it's",
      ' a',
      'a: b',
      'a #b',
      '- a',
      '---',
      'a\n---\nkind: Paymaster',
      '{}',
      '"',
      '\\n',
      '%YAML',
      '\u202eevil',
      '\u0085',
      '\u2028',
      '\u{1f600}',
      '\ud800',
      '\u0000',
      '*a',
      '&a b',
      '!!js/function a',
    ];
    const policies = texts.map((text, index) => ({
      name: `p-${index}`,
      id: `${index}`,
      createdBy: 'git',
      managedBy: [],
      labels: { [text]: text },
      spec: { name: text, policyType: 'SENDERS', senders: { action: 'Allow', addresses: [text, [text]] } },
    }));
    await open('paymaster/ruled?tab=yaml', {
      answers: (opened) =>
        opened.route('**/policies?**', (route) =>
          route.fulfill({ json: { data: { items: policies, nextCursor: null } } }),
        ),
    });
    await page.getByText('name: p-0').waitFor();
    const text = await page.locator('main pre').evaluate((each) => each.textContent ?? '');
    const documents = readYamlDocuments(text).slice(2) as readonly { spec: unknown; metadata: unknown }[];
    expect(documents.map(({ spec }) => spec)).toEqual(policies.map(({ spec }) => spec));
    expect(documents.map(({ metadata }) => metadata)).toMatchObject(
      policies.map(({ labels }) => ({ labels })),
    );
    expect(text).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u);
  });
});
