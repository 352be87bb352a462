import { DomainError, invalidInput } from '../../../core/errors.js';
import { pricesFor, createPrices } from '../../../core/ledger/prices.js';
import { createStatement } from '../../../core/ledger/statement.js';
import { endOf, rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { endpoint, reading } from '../endpoint.js';
import { month, uuid } from '../parameters.js';
import { showsOne } from '../shape.js';
import { requireLedger } from './fair-ledger.js';
import { accountsThatPay } from './funds.js';
import { objectNames, type Names } from './object-names.js';
import { ownPaymasters } from './own-paymaster.js';
import { renderLines, formatMonth, statementShape, statementTable, usedPrices } from './statement-record.js';

/** Each is some questions to the ledger. */
const maxAccounts = 200;

export const statementsEndpoint = endpoint({
  ...reading,
  operationId: 'listStatements',
  summary:
    'What the accounts that pay held at the begin and at the end of a month, and everything that changed it, with the chain as the measure',
  path: '/statements',
  needs: ['read', 'finance'],
  parameters: {
    month: month('The month (UTC), e.g. 2026-01. Default: the one before this.'),
    paymasterId: uuid(
      'Only accounts that pay for this paymaster; all others count as other paymasters. Default: all of the organisation.',
    ),
  },
  form: 'table',
  ...showsOne(statementShape),

  async handle(tools, { principal, given: { month: asked, paymasterId } }) {
    const ledger = requireLedger(tools, principal);
    const now = tools.clock.now();
    const from = asked ?? startOf((startOf(now, 'month') - 1) as EpochMs, 'month');
    const to = endOf(from, 'month');
    if (from > now)
      throw invalidInput({ field: 'month', expected: 'a month that has begun', value: formatMonth(from) });
    const names = await objectNames(tools, ledger, principal, 'Paymaster');
    const paid = await servedAccounts(tools, principal, { paymasterId, names });
    const { tenant: organisation } = principal;
    const facts = await ledger.statement({
      accounts: paid,
      paidFor: { organisation, ...(paymasterId === undefined ? {} : { paymasterId }) },
      limit: maxAccounts,
      from,
      to,
    });
    if (facts.length > maxAccounts)
      throw invalidInput({
        field: 'paymasterId',
        expected: `given: the organisation has more than ${maxAccounts} accounts`,
      });
    const chainIds = [...new Set(facts.map(({ account }) => account.chainId))];
    const prices = createPrices(
      await ledger.prices(pricesFor({ chainIds, from, to: (to + rollupUnits.hour) as EpochMs })),
    );
    const isOwn: Parameters<typeof createStatement>[1]['isOwn'] = (sum) =>
      paymasterId === undefined
        ? sum.organisation === organisation ||
          (sum.organisation === '' && names(sum.paymasterId) !== undefined)
        : sum.paymasterId === paymasterId;
    const accounts = facts.map((one) => {
      const statement = createStatement(one, { to, now, prices, isOwn });
      return { ...statement, ...statement.account, lines: renderLines(statement, { names, prices }) };
    });
    const used = facts.flatMap(({ account: { chainId }, sums }) =>
      [from, ...sums.map(({ hour }) => hour), to].map((hour) => ({ chainId, hour })),
    );
    return {
      data: statementShape.render({ from, to, accounts, prices: usedPrices(used, prices) }),
      table: statementTable(accounts),
    };
  },
});

/** Accounts that pay now; a paymaster that was deleted has only those that paid. Throws NOT_FOUND for an unknown one. */
async function servedAccounts(
  tools: Parameters<typeof ownPaymasters>[0],
  principal: Parameters<typeof ownPaymasters>[1],
  { paymasterId, names }: { readonly paymasterId: string | undefined; readonly names: Names },
) {
  try {
    const own = await ownPaymasters(tools, principal, paymasterId);
    return (await accountsThatPay(tools, own)).map(({ account }) => account);
  } catch (error) {
    const isDeleted = paymasterId !== undefined && names(paymasterId) !== undefined;
    if (error instanceof DomainError && error.code === 'NOT_FOUND' && isDeleted) return [];
    throw error;
  }
}
