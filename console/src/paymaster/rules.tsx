import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can, type Live, useLive } from '../api.js';
import { amounts, words } from '../format.js';
import { type Change, Labelled, OutcomeNote, useOutcome } from '../parts/form.js';
import { Badge, Card, Shown, Table, Time } from '../parts/parts.js';
import { type Known, listAllPages } from '../paymasters.js';
import type { Limit, Policy, Rule } from '../records.js';
import { pageHref, route } from '../route.js';
import { findRuleKind, ruleKinds } from './kinds.js';
import { units } from './limit-words.js';
import { ChangeLimit, formatFigure, NewLimit } from './limit.js';
import { Actions, Meter, type Verbs } from './objects.js';
import { ChangeRule, NewRule, tested } from './rule-form.js';

const verbs: Verbs = {
  noun: 'policies',
  pausing: 'It no longer decides: what it refuses now is paid for, until it is resumed.',
  paused: 'it no longer decides.',
  deleting:
    'It no longer decides, for good: what it refuses now is paid for. A limit that is made again with its name goes on counting.',
};

/** Every rule of a paymaster, each in one row: its sentence, what is used and left, and when it resets. */
export function Rules({ paymaster }: { readonly paymaster: Known }) {
  const { object, paymasterId } = paymaster;
  const [sender, setSender] = useState('');
  const isAccount = /^0x[0-9a-fA-F]{40}$/.test(sender);
  const asked = isAccount ? { sender } : {};
  const key = `${object} ${isAccount ? sender : ''}`;
  const rules = useLive(`rules ${key}`, async () => {
    const query = isAccount ? `?${new URLSearchParams(asked)}` : '';
    return (await call<Answers['listRules']>(`/manage/v1/paymasters/${object}/rules${query}`)).items;
  });
  const limits = useLive(`limits ${key}`, async () => {
    const query = new URLSearchParams({ paymasterId, ...asked });
    return (await call<Answers['getLimits']>(`/manage/v1/limits?${query}`)).items;
  });
  const policies = useLive(`policies ${object}`, () => listAllPages('policies', object));
  const reload = (): void => [rules, limits, policies].forEach((each) => each.reload());
  const { outcome, run } = useOutcome(reload);
  const error = rules.error ?? policies.error;
  const all: Live<readonly Row[]> = {
    reload,
    ...(error !== undefined && { error }),
    ...(policies.data && rules.data && { data: listRows(policies.data, rules.data, limits.data ?? []) }),
  };
  return (
    <Card
      title="Rules"
      aside={
        <Labelled
          label="Of limits per account, show the share of"
          says={isAccount || sender === '' ? undefined : 'Must be an address: 0x and 40 hex digits'}
        >
          {(state) => (
            <input
              type="search"
              value={sender}
              placeholder="0x…"
              onInput={(event) => setSender(event.currentTarget.value.trim())}
              {...state}
            />
          )}
        </Labelled>
      }
    >
      <OutcomeNote outcome={outcome} />
      <Shown
        live={all}
        empty={`Nothing decides yet.${can() ? ' Register a contract, then set a limit.' : ''}`}
      >
        {(rows) => <RuleTable rows={rows} run={run} />}
      </Shown>
      {can() && (
        <>
          <Changed policies={policies.data ?? []} used={limits.data ?? []} onDone={reload} />
          <NewLimit paymaster={paymaster} onDone={reload} />
          <NewRule paymaster={paymaster} onDone={reload} />
        </>
      )}
    </Card>
  );
}

/** The form of the policy that the address names, so that other pages can lead to it. */
function Changed({
  policies,
  used,
  onDone,
}: {
  readonly policies: readonly Policy[];
  readonly used: readonly Limit[];
  readonly onDone: () => void;
}) {
  const { change } = route.value.query;
  const policy = policies.find(({ name }) => name === change);
  if (policy === undefined) return null;
  const props = { key: policy.name, policy, onDone };
  return policy.spec.spendingLimit === undefined ? (
    <ChangeRule {...props} />
  ) : (
    <ChangeLimit {...props} used={used} />
  );
}

function RuleTable({
  rows,
  run,
}: {
  readonly rows: readonly Row[];
  readonly run: (change: Change) => Promise<void>;
}) {
  return (
    <Table
      caption="Rules"
      id={({ policy, policyType, name, campaign }) =>
        policy?.id ?? JSON.stringify([policyType, name, campaign])
      }
      rows={rows}
      columns={[
        { name: 'Rule', of: (row) => <Name {...row} />, by: ({ name }) => name },
        {
          name: 'Says',
          of: (row) => (
            <>
              {saidBy(row).map((sentence, index) => (
                <div key={index}>{amounts(sentence)}</div>
              ))}
              {renderModes(row)}
            </>
          ),
        },
        { name: 'Used', of: renderUsed, by: ({ limit }) => limit && usedShare(limit) },
        {
          name: 'Left',
          isNumber: true,
          of: ({ limit }) => limit && formatLeft(limit),
        },
        {
          name: 'Resets',
          of: ({ limit, rules }) => {
            const at = limit?.resetsAt ?? rules.find(({ turnsAt }) => turnsAt !== undefined)?.turnsAt;
            if (at !== undefined && at !== null) return <Time>{at}</Time>;
            return limit && 'never';
          },
          by: ({ limit }) => limit?.resetsAt ?? undefined,
        },
        { name: 'State', of: renderState },
        can() && {
          name: 'Change',
          of: ({ policy, policyType }) =>
            policy === undefined ? (
              policyType === 'CONTRACTS' && (
                <a href={pageHref('paymaster', { tab: 'contracts' }, route.value.id)}>Contracts</a>
              )
            ) : (
              <Actions object={policy} verbs={verbs} run={run}>
                {policy.spec.policyType === 'WEBHOOK' && (
                  <button
                    type="button"
                    onClick={() => void run(tested(policy))}
                    aria-label={`Send a test to ${policy.spec.name}`}
                  >
                    Send a test
                  </button>
                )}
              </Actions>
            ),
        },
      ]}
    />
  );
}

function Name({ name, policyType, campaign, policy }: Row) {
  const title = Object.hasOwn(ruleKinds, policyType)
    ? findRuleKind(policyType as Policy['spec']['policyType']).title
    : words(policyType);
  const more = [
    title !== name && title,
    campaign !== undefined && `campaign ${campaign}`,
    policy && `by ${policy.createdBy}`,
  ];
  return (
    <>
      {name} <span class="quiet">{more.filter(Boolean).join(', ')}</span>
    </>
  );
}

function renderUsed({ name, limit }: Row) {
  if (limit === undefined) return null;
  const share = usedShare(limit);
  if (share === undefined) return <span class="quiet">by account</span>;
  const reserved = formatFigure(limit, 'reserved');
  return (
    <>
      {formatFigure(limit, 'used')}
      {reserved !== '0' && <span class="quiet"> and {reserved} reserved</span>}{' '}
      <Meter share={share} name={name} />
    </>
  );
}

function formatLeft(limit: Limit): string | undefined {
  if (limit.remaining === null) return undefined;
  return `${formatFigure(limit, 'remaining')} ${units[limit.unit] ?? words(limit.unit)}`;
}

function renderState({ policy, rules }: Row) {
  if (policy?.spec.active === false) return <Badge>paused</Badge>;
  const isShadow = [policy?.spec, ...rules].some((each) => each?.enforcement === 'Shadow');
  const refuses = rules.some(({ verdict }) => verdict === 'refuse');
  if (isShadow) return <Badge of="paused">{refuses ? 'Shadow: would refuse' : 'Shadow: counts alone'}</Badge>;
  return refuses ? <Badge of="refuse">refuses all</Badge> : <Badge of="pass">active</Badge>;
}

/** Most rules judge what is sponsored; the others say so. */
function renderModes({ rules }: Row) {
  const modes = new Set(rules.flatMap(({ appliesTo }) => appliesTo));
  if (!modes.has('ERC20')) return null;
  return (
    <span class="quiet">{modes.has('SPONSORED') ? 'payments in tokens, too' : 'payments in tokens'}</span>
  );
}

/** A policy with what it says now, or a rule that no policy makes. */
export type Row = {
  readonly name: string;
  readonly policyType: string;
  readonly campaign?: string | undefined;
  readonly policy?: Policy;
  /** A limit per cycle and one per operation are two. */
  readonly rules: readonly Rule[];
  readonly limit?: Limit | undefined;
};

/** What decides besides policies first, then policies by their kind. */
function listRows(
  policies: readonly Policy[],
  rules: readonly Rule[],
  limits: readonly Limit[],
): readonly Row[] {
  const findLimit = (id: string | undefined) => limits.find(({ policy }) => policy === id);
  const ofPolicies = policies.map((policy): Row => {
    const { name, policyType, campaign } = policy.spec;
    const own = rules.filter((rule) => belongsToPolicy(rule, policy));
    return { name, policyType, campaign, policy, rules: own, limit: findLimit(policy.id) };
  });
  const owned = new Set(ofPolicies.flatMap((row) => row.rules));
  const others = rules.filter((rule) => !owned.has(rule));
  const kinds = Object.keys(ruleKinds);
  return [
    ...others.map((rule): Row => ({ ...rule, rules: [rule], limit: findLimit(rule.policyId) })),
    ...ofPolicies.toSorted((a, b) => kinds.indexOf(a.policyType) - kinds.indexOf(b.policyType)),
  ];
}

/**
 * The API answers all policies of some kinds as one rule, without an id. A policy that was never valid refuses everything by a rule that
 * has its name.
 */
function belongsToPolicy({ policyId, policyType, name, campaign }: Rule, { id, spec }: Policy): boolean {
  if (policyId !== undefined) return policyId === id;
  if (spec.active === false) return false;
  if (policyType === 'INVALID_POLICY') return name === spec.name;
  return policyType === spec.policyType && campaign === spec.campaign;
}

/** The sentences of a row. */
function saidBy({ policy, rules, limit }: Row): readonly string[] {
  // The figures of a limit are in their columns.
  if (policy !== undefined && (limit !== undefined || rules.length === 0))
    return [findRuleKind(policy.spec.policyType).says(policy.spec)];
  return rules.map(({ says }) => says);
}

/** Between 0 and 1, promises included; undefined where it is not known, e.g. for limits per account. */
export function usedShare({ used, reserved, threshold }: Limit): number | undefined {
  if (used === null || reserved === null || threshold === null) return undefined;
  return Number(threshold) === 0 ? 1 : Math.min(1, (Number(used) + Number(reserved)) / Number(threshold));
}
