import { formatAccount, type AccountName } from '../../../core/ledger/query.js';
import { parseLossBudget } from '../../../core/policy/token-loss.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { contractLosses } from '../../../core/usage/token-losses.js';
import { parseAddressKey } from '../../../core/units/address.js';
import { formatInstant } from '../../../core/units/time.js';
import { gwei, gweiToWei } from '../../../core/units/wei.js';
import { endpoint } from '../endpoint.js';
import { amount } from '../ledger/amounts.js';
import { accountExample, accountMembers, accountsOfProfile, describeAccounts } from '../ledger/funds.js';
import { ledgerOff } from '../ledger/require-ledger.js';
import { address, coins, time, wei } from '../ledger/schemas.js';
import { chainId, text } from '../record-schemas.js';
import { byAge } from '../views.js';
import { platformOwner } from './router.js';

type Pooled = {
  readonly account: AccountName;
  readonly versions: readonly string[];
  readonly organisations: readonly string[] | null;
};

export const platformAccounts = endpoint({
  operationId: 'listPlatformAccounts',
  summary:
    'The accounts that several organisations share: deposits of contracts, and default wallets; what they hold, and for how long it lasts',
  method: 'get',
  path: '/platform/accounts',
  scope: 'platform',
  cost: 'reading',
  schema: record({
    accounts: arrayOf(
      record({
        ...accountMembers,
        versions: { ...arrayOf(text), description: 'That it pays for.' },
        organisations: {
          type: ['array', 'null'],
          items: text,
          description: 'Namespaces that the default wallet serves, * for all; null for a deposit.',
        },
      }),
    ),
  }),
  example: { accounts: [{ ...accountExample, versions: ['1.1.0'], organisations: null }] },

  async handle(tools) {
    if (tools.ledger === undefined) throw ledgerOff();
    const pooled = new Map<string, Pooled>();
    for (const { spec } of byAge(await tools.resources.list('Chain')))
      for (const profile of spec.profiles) {
        const { defaultFunding, version } = profile;
        for (const account of accountsOfProfile(spec.chainId, profile, defaultFunding?.address)) {
          const { versions = [], organisations = null } = pooled.get(formatAccount(account)) ?? {};
          const served = account.fundingAddress === undefined ? [] : (defaultFunding?.organisations ?? []);
          const all = [...new Set([...(organisations ?? []), ...served])];
          pooled.set(formatAccount(account), {
            account,
            versions: [...new Set([...versions, version])],
            organisations: account.fundingAddress === undefined ? null : all,
          });
        }
      }
    const accounts = [...pooled.values()];
    const described = await describeAccounts(
      tools,
      tools.ledger(platformOwner),
      accounts.map(({ account }) => account),
    );
    return {
      data: {
        accounts: accounts.map(({ versions, organisations }, at) => ({
          ...described[at],
          versions,
          organisations,
        })),
      },
    };
  },
});

export const platformLosses = endpoint({
  operationId: 'listPlatformLosses',
  summary:
    'What contracts have lost today (UTC) on operations that were mined and paid no token, and may lose',
  method: 'get',
  path: '/platform/losses',
  scope: 'platform',
  schema: record({
    losses: arrayOf(
      record({
        chainId,
        version: text,
        contract: address,
        lostWei: wei,
        lost: coins,
        budgetWei: wei,
        budget: coins,
        until: { ...time, description: 'Then the day ends, and counting begins anew.' },
      }),
    ),
  }),
  example: {
    losses: [
      {
        chainId: 31337,
        version: '1.1.0',
        contract: '0x00000000000000fb866daaa79352cc568a005d96',
        lostWei: '1000000000000000',
        lost: '0.001',
        budgetWei: '100000000000000000',
        budget: '0.1',
        until: '2026-01-02T00:00:00Z',
      },
    ],
  },

  async handle({ resources, usage }) {
    const losses: object[] = [];
    for (const { spec } of byAge(await resources.list('Chain'))) {
      const modes = spec.profiles.flatMap(({ version, addresses: { token }, tokenLossBudget }) =>
        token === undefined ? [] : [{ version, contract: parseAddressKey(token), tokenLossBudget }],
      );
      const counted = modes.map(({ contract }) =>
        contractLosses({ chainId: spec.chainId, contract }, usage.now()),
      );
      const states = modes.length === 0 ? [] : await usage.counters(spec.chainId, counted);
      for (const [at, { version, contract, tokenLossBudget }] of modes.entries()) {
        const until = counted[at]?.window.until;
        losses.push({
          chainId: spec.chainId,
          version,
          contract,
          ...amount('lost', gweiToWei(gwei(states[at]?.used ?? 0))),
          ...amount('budget', gweiToWei(parseLossBudget(tokenLossBudget))),
          until: until === undefined ? null : formatInstant(until),
        });
      }
    }
    return { data: { losses } };
  },
});
