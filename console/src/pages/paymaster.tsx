import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import { words } from '../format.js';
import { useLive } from '../live.js';
import { ChangeContract, ChangeWebhook } from '../parts/change.js';
import { NewContract, NewKey, NewLimit, NewPaymaster, NewWebhook } from '../parts/create.js';
import { DeletePaymaster } from '../parts/delete.js';
import { Funding } from '../parts/funding.js';
import { OutcomeNote, useOutcome, type Change } from '../parts/form.js';
import { ChangeLimit, figureOf, units } from '../parts/limit.js';
import { Card, Facts, Hex, Note, Select, Shown, Table, Time } from '../parts/parts.js';
import { Policies } from '../parts/policies.js';
import { Rules } from '../parts/rules.js';
import { State, Stoppable, Suspension } from '../parts/suspension.js';
import { apiKeyOf, labelOf, listOf, usePaymasters, type Known } from '../paymasters.js';
import type { Limit } from '../records.js';
import { hrefOf, route } from '../route.js';

export function Paymaster() {
  const paymasters = usePaymasters();
  const mayChange = can();
  return (
    <>
      {(!can('read') || !paymasters.data?.length) && <h1>Paymasters</h1>}
      <Shown
        live={paymasters}
        isEmpty={(all) => all.length === 0}
        empty={
          mayChange
            ? 'You have no paymaster yet. Create one below, or apply a manifest of kind Paymaster.'
            : 'The organisation has no paymaster yet.'
        }
      >
        {(all) =>
          can('read') ? (
            <OneOf all={all} onChanged={paymasters.reload} />
          ) : (
            <Stoppable all={all} onChanged={paymasters.reload} />
          )
        }
      </Shown>
      {mayChange && paymasters.data !== undefined && (
        <Card title="New paymaster">
          <NewPaymaster like={paymasters.data[0]} onDone={paymasters.reload} />
        </Card>
      )}
    </>
  );
}

function OneOf({ all, onChanged }: { readonly all: readonly Known[]; readonly onChanged: () => void }) {
  const { id } = route.value;
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
      <OnePaymaster key={chosen.object} paymaster={chosen} onChanged={onChanged} />
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
  const { object, paymasterId } = paymaster;
  const contracts = useLive(`contracts ${object}`, () => listOf('contracts', object));
  const policies = useLive(`policies ${object}`, () => listOf('policies', object));
  const limits = useLive(`limits ${paymasterId}`, async () => {
    const found = await call<Answers['getLimits']>(`/manage/v1/limits?paymasterId=${paymasterId}`);
    return found.items;
  });
  const { outcome, run } = useOutcome(onChanged);
  const [keys, setKeys] = useState(0);
  const mayChange = can();
  return (
    <>
      <Card title="State" aside={<Suspension paymaster={paymaster} run={run} />}>
        <OutcomeNote outcome={outcome} />
        {paymaster.open !== undefined && <Note kind="warn">{paymaster.open}</Note>}
        {paymaster.down !== undefined && !paymaster.isSuspended && <p class="note error">{paymaster.down}</p>}
        <State {...paymaster} />
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
        {mayChange && (
          <>
            <NewLimit paymaster={paymaster} onDone={() => (limits.reload(), policies.reload())} />
            <ChangeLimit
              policies={policies.data ?? []}
              used={limits.data ?? []}
              onDone={() => (limits.reload(), policies.reload())}
            />
          </>
        )}
      </Card>
      <Card title="Contracts and methods that are sponsored">
        <Shown
          live={contracts}
          isEmpty={(all) => all.length === 0}
          empty={`No contract is registered, so this paymaster may pay for calls of anything.${mayChange ? ' Register one with its ABI, and choose the methods to pay for.' : ''}`}
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
        {mayChange && (
          <>
            <NewContract paymaster={paymaster} onDone={() => (contracts.reload(), onChanged())} />
            <ChangeContract contracts={contracts.data ?? []} onDone={contracts.reload} />
          </>
        )}
      </Card>
      <Card title="Policies">
        <Shown
          live={policies}
          isEmpty={(all) => all.length === 0}
          empty="It has no policy: every call of a sponsored method is paid for."
        >
          {(all) => <Policies policies={all} onChanged={policies.reload} />}
        </Shown>
        {mayChange && (
          <>
            <NewWebhook paymaster={paymaster} onDone={policies.reload} />
            <ChangeWebhook policies={policies.data ?? []} onDone={policies.reload} />
          </>
        )}
      </Card>
      <Card title="Who pays">
        <Funding paymaster={paymaster} onDone={onChanged} />
      </Card>
      <Card title="Connect a wallet">
        <Connection key={keys} {...paymaster} />
        {mayChange && (
          <NewKey paymaster={paymaster} onDone={() => (setKeys((last) => last + 1), onChanged())} />
        )}
      </Card>
      {mayChange && (
        <Card title="End">
          <DeletePaymaster object={object} onDone={onChanged} />
        </Card>
      )}
    </>
  );
}

function Limits({ limits }: { readonly limits: readonly Limit[] }) {
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
        { name: 'Used', isNumber: true, of: (limit) => figureOf(limit, 'used') },
        { name: 'Reserved', isNumber: true, of: (limit) => figureOf(limit, 'reserved') },
        { name: 'Left', isNumber: true, of: (limit) => figureOf(limit, 'remaining') },
        { name: 'Of', isNumber: true, of: (limit) => figureOf(limit, 'threshold') },
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

function Connection({ object, chainId, paymasterId }: Known) {
  const [apiKey, setKey] = useState<string>();
  const { outcome, run } = useOutcome(() => undefined);
  const show: Change = async () => {
    setKey(await apiKeyOf(object));
    return undefined;
  };
  return (
    <>
      <p class="quiet">
        A wallet calls this address with pm_sponsorUserOperation. Its last part is the apiKey: everybody who
        has it can ask this paymaster to pay, within your policies.
      </p>
      <Facts>
        {[
          ['paymasterId', <code>{paymasterId}</code>],
          ['JSON-RPC path', <code>{`/api/v1/${chainId}/${apiKey ?? '•'.repeat(12)}`}</code>],
        ]}
      </Facts>
      <OutcomeNote outcome={outcome} />
      {can() && (
        <p>
          <button
            type="button"
            aria-pressed={apiKey !== undefined}
            onClick={() => (apiKey === undefined ? void run(show) : setKey(undefined))}
          >
            {apiKey === undefined ? 'Show the apiKey' : 'Hide the apiKey'}
          </button>
        </p>
      )}
    </>
  );
}
