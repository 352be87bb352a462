import { formatAccount, type AccountName } from '../../../core/ledger/query.js';
import { parseLossBudget } from '../../../core/policy/token-loss.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { parseAddressKey, type AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei, gweiToWei } from '../../../core/units/wei.js';
import { contractLosses } from '../../../core/usage/token-losses.js';
import { endpoint } from '../endpoint.js';
import { ledgerOff } from '../ledger/fair-ledger.js';
import { accountShape, accountsOfProfile, readAccounts, type Held } from '../ledger/funds.js';
import { address, time, wei } from '../ledger/schemas.js';
import { chainId, text } from '../record-schemas.js';
import { about, inCoins, shapeOf, showsList, wholeList } from '../shape.js';
import { byAge } from '../views.js';
import { platformOwner } from './router.js';

type Pooled = {
  readonly account: AccountName;
  readonly versions: readonly string[];
  readonly organisations: readonly string[] | null;
};

const pooledShape = shapeOf<Held & Omit<Pooled, 'account'>>()({
  ...accountShape.members,
  versions: [arrayOf(text, 'That it pays for.'), ['1.1.0']],
  organisations: [
    {
      type: ['array', 'null'],
      items: text,
      description: 'Namespaces that the default wallet serves, * for all; null for a deposit.',
    },
    null,
  ],
});

export const platformAccounts = endpoint({
  operationId: 'listPlatformAccounts',
  summary:
    'The accounts that several organisations share: deposits of contracts, and default wallets; what they hold, and for how long it lasts',
  method: 'get',
  path: '/platform/accounts',
  scope: 'platform',
  cost: 'reading',
  ...showsList(pooledShape),

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
    const held = await readAccounts(
      tools,
      tools.ledger(platformOwner),
      accounts.map(({ account }) => account),
    );
    return { data: wholeList(held.map((each, at) => pooledShape.render({ ...accounts[at]!, ...each }))) };
  },
});

type Losses = {
  readonly chainId: number;
  readonly version: string;
  readonly contract: AddressKey;
  readonly lostWei: bigint;
  readonly budgetWei: bigint;
  readonly until: EpochMs | undefined;
};

const lossesShape = shapeOf<Losses>()({
  chainId: [chainId, 31337],
  version: [text, '1.1.0'],
  contract: [address, '0x00000000000000fb866daaa79352cc568a005d96'],
  ...inCoins('lost', wei, 10n ** 15n),
  ...inCoins('budget', wei, 10n ** 17n),
  until: [about(time, 'Then the day ends, and counting begins anew.'), '2026-01-02T00:00:00Z'],
});

export const platformLosses = endpoint({
  operationId: 'listPlatformLosses',
  summary:
    'What contracts have lost today (UTC) on operations that were mined and paid no token, and may lose',
  method: 'get',
  path: '/platform/losses',
  scope: 'platform',
  ...showsList(lossesShape),

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
        losses.push(
          lossesShape.render({
            chainId: spec.chainId,
            version,
            contract,
            lostWei: gweiToWei(gwei(states[at]?.used ?? 0)),
            budgetWei: gweiToWei(parseLossBudget(tokenLossBudget)),
            until: counted[at]?.window.until,
          }),
        );
      }
    }
    return { data: wholeList(losses) };
  },
});
