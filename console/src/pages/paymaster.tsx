import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { coins, count, exact, memberName, words } from '../format.js';
import { useLive } from '../live.js';
import { ChangeContract, ChangeWebhook } from '../parts/change.js';
import { NewContract, NewKey, NewLimit, NewPaymaster, NewWebhook } from '../parts/create.js';
import { Funding } from '../parts/funding.js';
import { OutcomeNote, useOutcome } from '../parts/form.js';
import { ChangeLimit, units } from '../parts/limit.js';
import { Badge, Card, Facts, Hex, Note, Select, Shown, Table, Time } from '../parts/parts.js';
import { kindOf, Rules } from '../parts/rules.js';
import { labelOf, listOf, usePaymasters, type Known } from '../paymasters.js';
import type { ContractSpec, Limit, Managed, PolicySpec } from '../records.js';
import { hrefOf, route } from '../route.js';

export function Paymaster() {
  const paymasters = usePaymasters();
  const { id } = route.value;
  return (
    <>
      {!paymasters.data?.length && <h1>Paymasters</h1>}
      <Shown
        live={paymasters}
        isEmpty={(all) => all.length === 0}
        empty="You have no paymaster yet. Create one below, or apply a manifest of kind Paymaster."
      >
        {(all) => {
          const chosen = all.find(({ object }) => object === id) ?? all[0]!;
          return (
            <>
              <div class="top">
                <h1>{labelOf(chosen)}</h1>
                <Select
                  label="Paymaster"
                  value={chosen.object}
                  choices={all.map((one) => [one.object, labelOf(one)])}
                  onChoose={(object) => (location.hash = hrefOf('paymaster', {}, object))}
                />
              </div>
              <OnePaymaster key={chosen.object} paymaster={chosen} onChanged={paymasters.reload} />
            </>
          );
        }}
      </Shown>
      {paymasters.data !== undefined && (
        <Card title="New paymaster">
          <NewPaymaster like={paymasters.data[0]} onDone={paymasters.reload} />
        </Card>
      )}
    </>
  );
}

function OnePaymaster({
  paymaster,
  onChanged,
}: {
  readonly paymaster: Known;
  readonly onChanged: () => void;
}) {
  const { object, paymasterId, isSuspended } = paymaster;
  const contracts = useLive(`contracts ${object}`, () =>
    listOf<ContractSpec>(`contracts?paymaster=${object}`),
  );
  const policies = useLive(`policies ${object}`, () => listOf<PolicySpec>(`policies?paymaster=${object}`));
  const limits = useLive(`limits ${paymasterId}`, async () => {
    const found = await call<{ limits: readonly Limit[] }>(`/manage/v1/limits?paymasterId=${paymasterId}`);
    return found.limits;
  });
  const { outcome, run } = useOutcome(onChanged);
  const suspend = async (): Promise<string> => {
    await call(`/manage/v1/paymasters/${object}/${isSuspended ? 'resume' : 'suspend'}`, { method: 'POST' });
    return isSuspended
      ? 'It sponsors again.'
      : 'It sponsors nothing until it is resumed. What is signed already stays valid.';
  };
  return (
    <>
      <Card
        title="State"
        aside={
          <button type="button" onClick={() => void run(suspend)}>
            {isSuspended ? 'Resume this paymaster' : 'Suspend this paymaster'}
          </button>
        }
      >
        <OutcomeNote outcome={outcome} />
        {paymaster.open !== undefined && <Note kind="warn">{paymaster.open}</Note>}
        <Badge of={isSuspended ? 'paused' : 'pass'}>{isSuspended ? 'suspended' : 'in service'}</Badge>
      </Card>
      <Rules object={object} />
      <Card title="Limits">
        <Shown
          live={limits}
          isEmpty={(all) => all.length === 0}
          empty="No limit is set: only the money in the account bounds what this paymaster pays."
        >
          {(all) => <Limits limits={all} />}
        </Shown>
        <NewLimit paymaster={paymaster} onDone={() => (limits.reload(), policies.reload())} />
        <ChangeLimit policies={policies.data ?? []} onDone={() => (limits.reload(), policies.reload())} />
      </Card>
      <Card title="Contracts and methods that are sponsored">
        <Shown
          live={contracts}
          isEmpty={(all) => all.length === 0}
          empty="No contract is registered, so this paymaster may pay for calls of anything. Register one with its ABI, and choose the methods to pay for."
        >
          {(all) => (
            <Table
              caption="Contracts"
              rows={all}
              columns={[
                { name: 'Contract', of: ({ spec }) => spec.name },
                { name: 'Address', of: ({ spec }) => <Hex>{spec.address}</Hex> },
                {
                  name: 'Sponsored methods',
                  of: ({ spec }) => spec.whitelistedMethods?.join(', ') || 'none',
                },
                {
                  name: 'Others',
                  of: ({ spec, status: { methods = [] } }) =>
                    methods.filter((name) => !spec.whitelistedMethods?.includes(name)).join(', ') || 'none',
                },
                { name: 'Made by', of: ({ createdBy }) => createdBy },
              ]}
            />
          )}
        </Shown>
        <NewContract paymaster={paymaster} onDone={() => (contracts.reload(), onChanged())} />
        <ChangeContract contracts={contracts.data ?? []} onDone={contracts.reload} />
      </Card>
      <Card title="Policies">
        <Shown
          live={policies}
          isEmpty={(all) => all.length === 0}
          empty="It has no policy: every call of a sponsored method is paid for."
        >
          {(all) => <Policies policies={all} onChanged={policies.reload} />}
        </Shown>
        <NewWebhook paymaster={paymaster} onDone={policies.reload} />
        <ChangeWebhook policies={policies.data ?? []} onDone={policies.reload} />
      </Card>
      <Card title="Who pays">
        <Funding paymaster={paymaster} onDone={onChanged} />
      </Card>
      <Card title="Connect a wallet">
        <Connection {...paymaster} />
        <NewKey paymaster={paymaster} onDone={onChanged} />
      </Card>
    </>
  );
}

function Limits({ limits }: { readonly limits: readonly Limit[] }) {
  const figure = ({ rendered, ...exact }: Limit, name: 'threshold' | 'used' | 'reserved' | 'remaining') => {
    const shown = rendered === null ? exact[name] : rendered[name];
    if (shown === null) return 'by account';
    return typeof shown === 'number' ? count(shown) : coins(shown);
  };
  return (
    <Table
      caption="Limits"
      rows={limits}
      columns={[
        {
          name: 'Limit',
          of: ({ name, scope }) => (
            <>
              {name} <span class="quiet">{scopes[scope] ?? words(scope)}</span>
            </>
          ),
        },
        { name: 'Use', of: useOf },
        { name: 'Used', isNumber: true, of: (limit) => figure(limit, 'used') },
        { name: 'Reserved', isNumber: true, of: (limit) => figure(limit, 'reserved') },
        { name: 'Left', isNumber: true, of: (limit) => figure(limit, 'remaining') },
        { name: 'Of', isNumber: true, of: (limit) => figure(limit, 'threshold') },
        { name: 'Counts', of: ({ unit }) => units[unit] ?? words(unit) },
        {
          name: 'Begins again',
          of: ({ resetsAt }) => (resetsAt === null ? 'never by itself' : <Time>{resetsAt}</Time>),
        },
      ]}
    />
  );
}

const scopes: Readonly<Record<string, string>> = {
  PAYMASTER: 'for all together',
  SMART_ACCOUNT: 'for each account',
  ORGANISATION: 'a budget of the organisation',
};

function useOf({ name, used, reserved, threshold }: Limit) {
  if (used === null || reserved === null) return null;
  const share = Math.min(1, (Number(used) + Number(reserved)) / Number(threshold));
  return (
    <meter
      min={0}
      max={1}
      high={0.8}
      optimum={0}
      value={share}
      aria-label={`${name}: ${Math.round(share * 100)} % used or reserved`}
      title={`${Math.round(share * 100)} %`}
    />
  );
}

function Policies({
  policies,
  onChanged,
}: {
  readonly policies: readonly Managed<PolicySpec>[];
  readonly onChanged: () => void;
}) {
  const { outcome, run } = useOutcome(onChanged);
  const isActive = ({ spec }: Managed<PolicySpec>): boolean => spec.active !== false;
  const change = (policy: Managed<PolicySpec>) => async (): Promise<string> => {
    const wasActive = isActive(policy);
    await call(`/manage/v1/policies/${policy.name}/${wasActive ? 'suspend' : 'resume'}`, { method: 'POST' });
    return `“${policy.spec.name}” is ${wasActive ? 'paused: it no longer decides' : 'active again'}.`;
  };
  const tryHost =
    ({ name, spec }: Managed<PolicySpec>) =>
    async (): Promise<string> => {
      const path = `/manage/v1/policies/${name}/test`;
      const { verdict, wouldPass, durationMs, reason, detail } = await call<TestDelivery>(path, {
        method: 'POST',
      });
      const why = [reason, detail].filter((each) => each !== undefined).join(', ');
      return `“${spec.name}” ${verdict} after ${durationMs} ms${why && `: ${why}`}. An operation would ${wouldPass ? 'pass' : 'be refused'}.`;
    };
  return (
    <>
      <OutcomeNote outcome={outcome} />
      <Table
        caption="Policies"
        rows={policies}
        columns={[
          { name: 'Policy', of: ({ spec }) => spec.name },
          { name: 'Kind', of: ({ spec }) => kindOf(spec.policyType) },
          { name: 'Settings', of: ({ spec }) => settingsOf(spec) },
          { name: 'Made by', of: ({ createdBy }) => createdBy },
          {
            name: 'State',
            of: (policy) => (isActive(policy) ? <Badge of="pass">active</Badge> : <Badge>paused</Badge>),
          },
          {
            name: 'Change',
            of: (policy) => (
              <button
                type="button"
                onClick={() => void run(change(policy))}
                aria-label={`${isActive(policy) ? 'Pause' : 'Resume'} ${policy.spec.name}`}
              >
                {isActive(policy) ? 'Pause' : 'Resume'}
              </button>
            ),
          },
          {
            name: 'Try',
            of: (policy) =>
              policy.spec.policyType === 'WEBHOOK' && (
                <button
                  type="button"
                  onClick={() => void run(tryHost(policy))}
                  aria-label={`Send a test to ${policy.spec.name}`}
                >
                  Send a test
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

type TestDelivery = {
  readonly verdict: string;
  readonly wouldPass: boolean;
  readonly durationMs: number;
  readonly reason?: string;
  readonly detail?: string;
};

/** As `threshold: 1, cycleDuration: 1 day`, of the member that has the settings of its kind; other columns say the rest. */
function settingsOf(spec: PolicySpec): string {
  const others = ['paymasterRef', 'enforcement'];
  return Object.entries<unknown>(spec)
    .filter(([member, value]) => !others.includes(member) && typeof value === 'object' && value !== null)
    .flatMap(([, value]) => Object.entries(value as object))
    .map(([member, value]) => `${memberName(member)}: ${textOf(value)}`)
    .join(', ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  return typeof value === 'object' && value !== null
    ? Object.values(value).map(textOf).join(' ')
    : exact(String(value));
}

function Connection({ chainId, apiKey = '', paymasterId }: Known) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <p class="quiet">
        A wallet calls this address with pm_sponsorUserOperation. Its last part is the apiKey: everybody who
        has it can ask this paymaster to pay, within your policies.
      </p>
      <Facts>
        {[
          ['paymasterId', <code>{paymasterId}</code>],
          ['JSON-RPC path', <code>{`/api/v1/${chainId}/${isShown ? apiKey : '•'.repeat(12)}`}</code>],
        ]}
      </Facts>
      <p>
        <button type="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide the apiKey' : 'Show the apiKey'}
        </button>
      </p>
    </>
  );
}
