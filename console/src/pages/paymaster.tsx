import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { coins, count, words } from '../format.js';
import { useLive } from '../live.js';
import { Badge, Card, Facts, Hex, Note, Select, Shown, Table, Time } from '../parts/parts.js';
import { labelOf, sdk, usePaymasters, type Known } from '../paymasters.js';
import type { Contract, Limit, Policy } from '../records.js';
import { hrefOf, route } from '../route.js';

export function Paymaster() {
  const paymasters = usePaymasters();
  const { id } = route.value;
  return (
    <Shown
      live={paymasters}
      isEmpty={(all) => all.length === 0}
      empty="There is no paymaster yet. Apply a manifest of kind Paymaster, or call POST /api/v2/public/sdk/paymaster."
    >
      {(all) => {
        const chosen = all.find((one) => keyOf(one) === decodeURIComponent(id ?? '')) ?? all[0]!;
        return (
          <>
            <div class="top">
              <h1>{labelOf(chosen)}</h1>
              <Select
                label="Paymaster"
                value={keyOf(chosen)}
                choices={all.map((one) => [keyOf(one), labelOf(one)])}
                onChoose={(key) => (location.hash = hrefOf('paymaster', {}, encodeURIComponent(key)))}
              />
            </div>
            <OnePaymaster key={keyOf(chosen)} paymaster={chosen} />
          </>
        );
      }}
    </Shown>
  );
}

function keyOf({ name, chainId }: Known): string {
  return `${chainId}:${name}`;
}

function OnePaymaster({ paymaster }: { readonly paymaster: Known }) {
  const { apiKey, paymasterId, chainId } = paymaster;
  const contracts = useLive(`contracts ${apiKey}`, () =>
    call<readonly Contract[]>(`${sdk}/smart-contract`, { apiKey }),
  );
  const policies = useLive(`policies ${apiKey}`, () =>
    call<readonly Policy[]>(`${sdk}/paymaster-policy`, { apiKey }),
  );
  const limits = useLive(`limits ${paymasterId}`, async () =>
    paymasterId === undefined
      ? []
      : (await call<{ limits: readonly Limit[] }>(`/manage/v1/limits?paymasterId=${paymasterId}`)).limits,
  );
  return (
    <>
      <Card title="Limits">
        <Shown
          live={limits}
          isEmpty={(all) => all.length === 0}
          empty="No limit is set: only the money in the account bounds what this paymaster pays. A policy of type PAYMASTER_SA_LIMIT sets one."
        >
          {(all) => <Limits limits={all} />}
        </Shown>
      </Card>
      <Card title="Contracts and methods that are sponsored">
        <Shown
          live={contracts}
          isEmpty={(all) => all.length === 0}
          empty="No contract is registered. Register one with its ABI, and choose the methods to pay for."
        >
          {(all) => (
            <Table
              caption="Contracts"
              rows={all}
              columns={[
                { name: 'Contract', of: ({ name }) => name },
                { name: 'Address', of: ({ address }) => <Hex>{address}</Hex> },
                {
                  name: 'Sponsored methods',
                  of: ({ whitelistedMethods }) => whitelistedMethods.join(', ') || 'none',
                },
                {
                  name: 'Others',
                  of: ({ methods, whitelistedMethods }) =>
                    methods.filter((name) => !whitelistedMethods.includes(name)).join(', ') || 'none',
                },
              ]}
            />
          )}
        </Shown>
      </Card>
      <Card title="Policies">
        <Shown
          live={policies}
          isEmpty={(all) => all.every(isContract)}
          empty="There is no policy: every call of a sponsored method is paid for."
        >
          {(all) => (
            <Policies
              policies={all.filter((one) => !isContract(one))}
              apiKey={apiKey}
              onChanged={policies.reload}
            />
          )}
        </Shown>
      </Card>
      <Card title="Connect a wallet">
        <Connection chainId={chainId} apiKey={apiKey} paymasterId={paymasterId} />
      </Card>
    </>
  );
}

function isContract({ policyType }: Policy): boolean {
  return policyType === 'SMART_CONTRACT';
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
              {name}{' '}
              <span class="quiet">{scope === 'PAYMASTER' ? 'for all together' : 'for each account'}</span>
            </>
          ),
        },
        { name: 'Use', of: (limit) => <Use limit={limit} /> },
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

const units: Readonly<Record<string, string>> = {
  COUNT: 'operations',
  NATIVE_ASSET: 'coins',
  USD: 'dollars',
};

function Use({ limit: { name, used, reserved, threshold } }: { readonly limit: Limit }) {
  if (used === null || reserved === null) return <>–</>;
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
  apiKey,
  onChanged,
}: {
  readonly policies: readonly Policy[];
  readonly apiKey: string;
  readonly onChanged: () => void;
}) {
  const [note, setNote] = useState<{ kind: 'error' | 'done'; text: string }>();

  async function change({ _id, name, active }: Policy): Promise<void> {
    try {
      await call(`${sdk}/paymaster-policy/${active ? 'deactivate' : 'activate'}/${_id}`, {
        method: 'PATCH',
        apiKey,
      });
      setNote({
        kind: 'done',
        text: `“${name}” is ${active ? 'paused: it no longer decides' : 'active again'}.`,
      });
    } catch (error) {
      setNote({ kind: 'error', text: (error as Error).message });
    }
    onChanged();
  }

  return (
    <>
      {note !== undefined && <Note kind={note.kind}>{note.text}</Note>}
      <Table
        caption="Policies"
        rows={policies}
        columns={[
          { name: 'Policy', of: ({ name }) => name },
          { name: 'Kind', of: ({ policyType }) => kinds[policyType] ?? words(policyType) },
          { name: 'Settings', of: ({ policyData }) => settingsOf(policyData) },
          { name: 'Made by', of: ({ createdBy }) => createdBy },
          {
            name: 'State',
            of: ({ active }) => <Badge of={active ? 'pass' : 'paused'}>{active ? 'active' : 'paused'}</Badge>,
          },
          {
            name: 'Change',
            of: (policy) => (
              <button
                type="button"
                onClick={() => void change(policy)}
                aria-label={`${policy.active ? 'Pause' : 'Resume'} ${policy.name}`}
              >
                {policy.active ? 'Pause' : 'Resume'}
              </button>
            ),
          },
        ]}
      />
    </>
  );
}

const kinds: Readonly<Record<string, string>> = {
  PAYMASTER_SA_LIMIT: 'Spending limit',
  WALLET_DEPLOYMENT: 'Deployment of wallets',
};

/** As `threshold: 1, cycleDuration: 1 day`; what other columns say is left out. */
function settingsOf(data: Policy['policyData']): string {
  return Object.entries(data)
    .filter(([name]) => !['startTimeInEpoch', 'durationInMs', 'operator'].includes(name))
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  return typeof value === 'object' && value !== null
    ? Object.values(value).map(textOf).join(' ')
    : String(value);
}

function Connection({
  chainId,
  apiKey,
  paymasterId,
}: {
  readonly chainId: number;
  readonly apiKey: string;
  readonly paymasterId: string | undefined;
}) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <p class="quiet">
        A wallet calls this address with pm_sponsorUserOperation. Its last part is the apiKey: everybody who
        has it can ask this paymaster to pay, within your policies.
      </p>
      <Facts>
        {[
          ['paymasterId', <code>{paymasterId ?? 'known once it has a contract or a policy'}</code>],
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
