import { conditionReasons, type ConditionType, type ReasonText } from '../core/meta/condition-reasons.js';
import { conditionRemedy } from '../core/meta/condition-remedies.js';

/** `docs/conditions.md`: every condition with each reason, its meaning, and what to do about it. */
export function renderConditions(): string {
  const sections = Object.entries(conditionReasons).map(([type, reasons]) => {
    const rows = Object.entries(reasons as Readonly<Record<string, ReasonText>>).map(
      ([reason, { status, text }]) =>
        `| ${status} | \`${reason}\` | ${text} | ${conditionRemedy(`${type}/${reason}`) ?? '–'} |`,
    );
    const head = `## ${type}\n\n${about[type] ?? ''}`.trimEnd();
    return `${head}\n\n| status | reason | meaning | what to do |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${introduction}\n${sections.join('\n')}`;
}

const introduction = `<!-- Generated from core/meta/condition-reasons.ts and operator/conditions-page.ts. Do not edit: run \`make generate\`. -->

# Conditions

What each condition in the status of an object means, and what to do about it.

\`kubectl get\` shows \`Ready\` and its reason; \`kubectl describe\` shows all conditions with messages that name the field, file or address.

\`Ready\` of a Paymaster is True when its spec is accepted, resolved and programmed, and nothing of the platform blocks it: chain not
reachable, usage store lost, contract or signer not usable, connection Secret not written. A new one turns True when one rpc replica has said that it serves what was compiled (\`NotServed\` until then), a second or two later;
a changed one stays True. The Chain shows such a trouble at once. Paymasters follow
when it has lasted 60 seconds, at most 50 a second, and again when it has been over for 30 seconds; what they
show stays over a restart of the operator. So do they when deposits and contracts become known by the thousand. An Organisation follows its namespace in the same way.

\`Serving\` says whether operations are signed now. It never changes \`Ready\`. Limits that are full and webhooks that fail are known to the servers, which report
them every 15 seconds; such a trouble is shown for five minutes after it was last met. Servers notice it when they are asked: without requests nothing is
shown. Metrics \`paymaster_refusals_total\` and the answer of \`pm_explainSponsorship\` show each refusal at once.
`;

const about: Partial<Readonly<Record<string, string>>> = {
  Ready: 'Of every kind: the summary of the others.',
  Serving: 'Of a Paymaster, and of each profile in the status of a Chain.',
  Reachable: 'Of a Chain.',
  ClockSkew: 'Of a Chain. True is the trouble.',
  UsageStoreLost: 'Of a Chain. True is the trouble.',
  MasterKeys: 'Of every Chain, on Kubernetes.',
  TokenLoss: 'Of a Chain with a token mode. True is the trouble.',
  Following: 'Of a Chain. It does not change `Ready`: signing goes on.',
  OpenFunding: 'Of a Chain. True is a warning.',
  OpenSponsorship: 'Of a Paymaster. True is the trouble, unless it is meant so.',
  CapsLimited: 'Of a Paymaster. True is the trouble.',
  FunctionsIgnored: 'Of a Paymaster, and of a Chain. True is a warning.',
  CodePresent: 'Of a profile of a Chain.',
  EntryPointMatches: 'Of a profile of a Chain.',
  HashMatches: 'Of a profile of a Chain.',
  CodeUnchanged: 'Of a profile of a Chain.',
  Deposited: 'Of a profile of a Chain. It does not change `Ready`: Paymasters show `Funded`.',
  Staked: 'Of a profile of a Chain. It does not change `Ready`: signing goes on.',
  TokenSecured: 'Of a profile of a Chain with a token mode.',
  SignerAuthorized: 'Of a profile of a Chain, and of a Paymaster.',
  ContractCode: 'Of a SmartContract.',
  DataFeeUsable: 'Of a Chain whose `dataFee` is read from the chain.',
  PriceUsable: 'Of a FeeToken, and of a Chain with `nativePrice`, where it does not change `Ready`.',
  ConnectionSecret: 'Of a Paymaster with writeConnectionSecretToRef.',
  DashboardAccess: 'Of an Organisation.',
} satisfies Partial<Record<ConditionType, string>>;
