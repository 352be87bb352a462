import { limitWords } from '../paymaster/limit-words.js';
import { objectName, type NewObject } from '../paymaster/create-object.js';
import { newContractOf } from '../paymaster/new-contract.js';
import { newLimitOf } from '../paymaster/new-limit.js';
import { newRuleOf } from '../paymaster/rule-form.js';
import type { Values } from '../parts/form-facts.js';
import type { Policy } from '../records.js';
import type { StepName } from './draft.js';

/** What a step makes, and what that means. */
export type Planned = NewObject & {
  readonly step: StepName;
  readonly kind: string;
  readonly name: string;
  readonly says: string;
};

type Entered = Readonly<Partial<Record<StepName, Values>>>;

/**
 * In the order in which it is made: the contract is last, since before it a paymaster that denies pays for nothing. What fails in the
 * middle leaves no paymaster that pays without its limit.
 */
export function plannedOf({ chain = {}, contract, limit, webhook }: Entered): readonly Planned[] {
  const { name = '', chainId, version } = chain;
  const object = objectName(name);
  const spec = { name, chainId: Number(chainId), type: 'HYBRID', version, defaultContractAction: 'Deny' };
  const says = `On chain ${chainId}, version ${version}. It pays for nothing that is not listed.`;
  return [
    { step: 'chain', kind: 'Paymaster', noun: 'paymasters', object, spec, name, says },
    ...(limit?.['has'] === 'yes' ? [limitOf(object, limit)] : []),
    ...(webhook?.['has'] === 'yes' ? [webhookOf(object, webhook)] : []),
    ...(contract?.['has'] === 'yes' ? [contractOf(object, contract)] : []),
  ];
}

function contractOf(paymaster: string, values: Values): Planned {
  const made = newContractOf(paymaster, values);
  const methods = made.spec.whitelistedMethods.join(', ') || 'no method';
  const { name, address } = made.spec;
  const says = `At ${address}: calls of ${methods} are paid for.`;
  return { ...made, step: 'contract', kind: 'Contract', name, says };
}

function limitOf(paymaster: string, values: Values): Planned {
  const made = newLimitOf(paymaster, values);
  const words = limitWords(made.spec.spendingLimit as NonNullable<Policy['spec']['spendingLimit']>);
  const says = `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
  return { ...made, step: 'limit', kind: 'Limit', name: made.spec.name, says };
}

function webhookOf(paymaster: string, values: Values): Planned {
  const made = newRuleOf(paymaster, 'WEBHOOK', values);
  const says = `Asks ${values['url']} about each operation.`;
  return { ...made, step: 'webhook', kind: 'Webhook', name: made.spec.name, says };
}

/** What is not made, where that means something. */
export function warningsOf({ contract, limit }: Entered): readonly string[] {
  const isWithout = contract?.['has'] !== 'yes';
  return [
    ...(isWithout ? ['No contract is registered: it pays for nothing until you register one.'] : []),
    ...(!isWithout && limit?.['has'] !== 'yes'
      ? ['There is no limit: it pays for every call of these methods, as long as there is money.']
      : []),
  ];
}
