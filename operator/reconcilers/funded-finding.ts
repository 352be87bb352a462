import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import { ordinaryGas } from '../../core/policy/ordinary-operation.js';
import { fundsSubject, type FundsTrouble } from '../../core/policy/serving-reports.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { toAddressKey } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import { fewOperations, type FundingLevel, type FundingQuestion } from '../facts/facts.js';
import type { Serving } from './serving-finding.js';

type Deps = { readonly facts: Pick<ChainFacts, 'funding'>; readonly serving: Serving };
type Level = FundingLevel | Exclude<FundsTrouble, 'TokenBudgetFull'>;

/** The first of them that an account has decides. */
const worstFirst = ['Empty', 'Promised', 'ShareFull', 'Unknown', 'Low'] as const;

/**
 * Condition `Funded`, of the accounts that an operation draws on: what they hold on chain, less what servers have promised of it. The
 * worst account gives the reason; the message names each that is short.
 */
export function fundedFinding(
  deps: Deps,
  config: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  questions: readonly FundingQuestion[],
  { status, metadata }: Pick<Paymaster, 'status' | 'metadata'>,
): Finding {
  const found = fundedNow(deps, config, questions);
  const before = findCondition(status?.conditions, 'Funded');
  const isReported = before?.reason === 'Promised' || before?.reason === 'ShareFull';
  // After a start it stands until the servers were asked.
  return isReported &&
    found.status === 'True' &&
    deps.serving?.isKnown() === false &&
    before.observedGeneration === metadata.generation
    ? finding('Funded', before.reason === 'Promised' ? 'Promised' : 'ShareFull', before.message)
    : found;
}

function fundedNow(
  { facts, serving }: Deps,
  { chainId, namespace }: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  questions: readonly FundingQuestion[],
): Finding {
  const levels = questions.map((question) => {
    const level = facts.funding(chainId, question);
    const trouble = level === 'Empty' ? undefined : promisedOf(serving, { chainId, namespace }, question);
    return { question, level: trouble ?? level };
  });
  const worst = worstFirst.find((each) => levels.some(({ level }) => level === each));
  if (worst === undefined) return finding('Funded', 'Ok');
  const told = worstFirst.flatMap((each) =>
    levels.filter(({ level }) => level === each).flatMap(({ question }) => textOf(each, question) ?? []),
  );
  return finding('Funded', worst, told.length === 0 ? undefined : told.join(' '));
}

function promisedOf(
  serving: Serving,
  { chainId, namespace }: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  { profile, wallet }: FundingQuestion,
): 'Promised' | 'ShareFull' | undefined {
  const account = {
    contract: toAddressKey(profile.sponsorship),
    ...given({ fundingAddress: wallet && toAddressKey(wallet) }),
  };
  if (serving?.of(fundsSubject(chainId, account)) === 'Promised') return 'Promised';
  const isFull = serving?.of(fundsSubject(chainId, account, { organisation: namespace })) === 'ShareFull';
  return isFull ? 'ShareFull' : undefined;
}

function textOf(level: Level, { profile, wallet }: FundingQuestion): string | undefined {
  const { sponsorship, entryPoint } = profile;
  const whose =
    wallet === undefined
      ? `contract ${sponsorship} in EntryPoint ${entryPoint}`
      : `${wallet} in contract ${sponsorship}`;
  const ordinary = `operation of ${ordinaryGas} gas at the recent fees of the chain`;
  switch (level) {
    case 'Empty':
      return `The deposit of ${whose} covers no ${ordinary}: top it up.`;
    case 'Promised':
      return `What is not promised of the deposit of ${whose} covers no ${ordinary}: wait until operations are mined or expire, or top it up.`;
    case 'ShareFull':
      return `Promises take all of the organisation's share of the deposit of ${whose}: wait until their operations are mined or expire, or use a funding wallet of your own.`;
    case 'Low':
      return `The deposit of ${whose} covers fewer than ${fewOperations} operations of ${ordinaryGas} gas at the recent fees of the chain: top it up soon.`;
    default:
      return undefined;
  }
}
