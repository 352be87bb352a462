import type { ComponentType } from 'preact';
import { can } from '../api.js';
import { OutcomeNote, useOutcome } from '../parts/form.js';
import { findChain, OnChain } from '../parts/on-chain.js';
import { Note } from '../parts/parts.js';
import type { OfPaymaster } from '../paymasters.js';
import { pageHref, route } from '../route.js';
import { Connect } from './connect.js';
import { Contracts } from './contracts.js';
import { DeletePaymaster } from './delete.js';
import { Keys } from './keys.js';
import { Manifests } from './manifests.js';
import { Money } from './money.js';
import { Rules } from './rules.js';
import { State, Suspension } from './suspension.js';

type Tab = { readonly title: string; readonly page: ComponentType<OfPaymaster> };

/** By what the address names. */
const tabs: Readonly<Record<string, Tab>> = {
  rules: { title: 'Rules', page: Rules },
  contracts: { title: 'Contracts', page: Contracts },
  money: { title: 'Money', page: Money },
  connect: { title: 'Connect', page: Connect },
  keys: { title: 'Keys', page: Keys },
  yaml: { title: 'YAML', page: Manifests },
};

export function OnePaymaster({ paymaster, onChanged }: OfPaymaster) {
  const { object, name, chainId, version, open, down, isSuspended, managers } = paymaster;
  const chain = findChain(chainId);
  const address = chain?.versions.find((each) => each.version === version)?.address;
  const { tab = '' } = route.value.query;
  const shown = Object.hasOwn(tabs, tab) ? tab : 'rules';
  const { page: Page } = tabs[shown]!;
  const { outcome, run } = useOutcome(onChanged);
  return (
    <>
      <section class="head" aria-label="State">
        <p class="quiet">
          <a href={pageHref('paymaster')}>Paymasters</a>
        </p>
        <div class="top">
          <h1>{name}</h1>
          <State {...paymaster} />
          <span class="quiet">
            {chain === undefined ? `chain ${chainId}` : `${chain.name} (chain ${chainId})`}, version {version}
            {address !== undefined && (
              <>
                {' '}
                <OnChain chainId={chainId} label="address of the contract">
                  {address}
                </OnChain>
              </>
            )}
          </span>
          <Suspension paymaster={paymaster} run={run} />
        </div>
        {managers.length > 0 && (
          <p class="quiet">Managed by {managers.join(' and ')}: what its manifest has is changed there.</p>
        )}
        <OutcomeNote outcome={outcome} />
        {open !== undefined && <Note kind="warn">{open}</Note>}
        {down !== undefined && !isSuspended && <p class="note error">{down}</p>}
      </section>
      <nav class="tabs" aria-label={name}>
        {Object.entries(tabs).map(([path, { title }]) => (
          <a
            key={path}
            href={pageHref('paymaster', { tab: path === 'rules' ? undefined : path }, object)}
            {...(path === shown ? { 'aria-current': 'page' as const } : {})}
          >
            {title}
          </a>
        ))}
      </nav>
      <Page key={shown} paymaster={paymaster} onChanged={onChanged} />
      {can() && <DeletePaymaster paymaster={paymaster} onDone={onChanged} />}
    </>
  );
}
