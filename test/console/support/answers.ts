import type { Route } from 'playwright-core';
import type { useConsole } from './console.js';

// Answers of the API that are made up.

export const at = '2026-01-01T00:00:00.000Z';
const paymaster = {
  name: 'shop',
  id: '0f8fad5b-d9cb-569f-a165-70867728950e',
  createdBy: 'git',
  managedBy: [],
  spec: { name: 'Shop', chainId: 31337, version: '1.0.0' },
  status: {},
};
export const policy = {
  name: 'shop-daily',
  id: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
  createdBy: 'git',
  managedBy: [],
  spec: {
    name: 'daily',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: { threshold: '100', thresholdType: 'COUNT', cycleDuration: { value: 1, unit: 'day' } },
  },
  status: {},
};
export const token = {
  name: 'robot',
  scopes: ['read'],
  expiresAt: null,
  createdBy: 'owner',
  endsWith: 'owner',
  lastUsedAt: at,
};

export type Answers = Readonly<Record<string, unknown>>;

/** `data` of each answer, by the end of its path. Others are asked of the server. */
export const nothing: Answers = {
  usage: { from: at, to: at, step: 'hour', additive: true, items: [], nextCursor: null },
  funds: { items: [] },
  problems: { items: [], complete: true },
  decisions: { items: [], nextCursor: null },
  changes: { items: [], nextCursor: null },
  tokens: { items: [] },
  limits: { items: [] },
  paymasters: { items: [], nextCursor: null },
  contracts: { items: [], nextCursor: null },
  policies: { items: [], nextCursor: null },
  paymaster: [],
  chains: { items: [] },
  statements: { items: [], nextCursor: null, prices: [] },
  rules: { items: [], nextCursor: null },
};
export const one: Answers = {
  ...nothing,
  paymasters: { items: [paymaster], nextCursor: null },
  policies: { items: [policy], nextCursor: null },
  tokens: { items: [token] },
};

/** A page of which `handle` answers every question and change. */
export const mocking =
  ({ open }: Pick<ReturnType<typeof useConsole>, 'open'>) =>
  (path: string, handle: (route: Route) => Promise<void>) =>
    open(path, { answers: (page) => page.route(/\/(manage\/v1|api\/v2)\/(?!me$)/, handle) });

export function answering(answers: Answers) {
  return async (route: Route): Promise<void> => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1) ?? '';
    if (route.request().method() === 'GET' && Object.hasOwn(answers, name))
      await route.fulfill({ json: { data: answers[name] } });
    else await route.continue();
  };
}
