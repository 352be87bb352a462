import { describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { CompiledPaymaster } from '../../../core/config/compile.js';
import { fundingMessage } from '../../../core/config/funding.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import type { PaymasterSources } from '../../../core/config/sources.js';
import { buryPaymaster } from '../../../core/config/tombstone.js';
import { parseAddress } from '../../../core/units/address.js';
import { plusMs } from '../../../core/units/time.js';
import { aPaymaster, aPolicy, aProfile, anOrganisation } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

const compile = (overrides: Partial<PaymasterSources> = {}): CompiledPaymaster =>
  compilePaymaster(someSources(overrides));
const webhookMaster = new Uint8Array(32).fill(7);
const aWebhook = aPolicy({
  meta: { name: 'hook' },
  name: 'Hook',
  policyType: 'WEBHOOK',
  webhook: { url: 'https://host.example/' },
});

describe('a namespace that is given to another tenant', () => {
  const policies = [aPolicy(), aWebhook];
  const first = compile({ policies });
  const second = compile({ policies, organisation: anOrganisation({ tenantGeneration: 2 }) });

  test('serves a paymaster of the same name under other ids, keys and webhook keys', () => {
    expect(second.config.paymasterId).toBe(derivePaymasterId('acme@2', 'shop'));
    expect(second.config.paymasterId).not.toBe(first.config.paymasterId);
    expect(second.config.keys[0]?.sha256).not.toBe(first.config.keys[0]?.sha256);
    const [old, now] = [first, second].map(({ config }) => [
      config.limits[0]?.policyId,
      deriveWebhookKey(webhookMaster, config.webhooks[0]?.policyId ?? ''),
    ]);
    expect(now?.[0]).not.toBe(old?.[0]);
    expect(now?.[1]).not.toBe(old?.[1]);
    expect(second.status.tenantGeneration).toBe(2);
  });

  test('keeps the namespace itself: quotas, default funding and dashboard go by it', () => {
    expect(second.config.namespace).toBe('acme');
  });

  test('keeps its records in the ledger under another name, so that it does not see those of the former tenant', () => {
    expect(first.config.tenant).toBeUndefined();
    expect(second.config.tenant).toBe('acme@2');
  });

  test('has the same identities as ever while the generation is 1, written or not', () => {
    const written = compile({ policies, organisation: anOrganisation({ tenantGeneration: 1 }) });
    expect(written.config).toEqual(first.config);
    expect(first.config.paymasterId).toBe(derivePaymasterId('acme', 'shop'));
    expect(first.status.tenantGeneration).toBeUndefined();
  });

  test('stays what it was while no Organisation names it: the config that says so replaces the one that signs', () => {
    const paymaster = aPaymaster({ status: { tenantGeneration: 2 } });
    const { config } = compile({ paymaster, organisation: undefined });
    expect(config).toMatchObject({
      paymasterId: second.config.paymasterId,
      notReady: { reason: 'NoOrganisation' },
    });
  });
});

describe('a funding proof of the tenant before', () => {
  const owner = new Wallet(`0x${'11'.repeat(32)}`);
  const proofOf = (namespace: string) => {
    const message = fundingMessage({
      chainId: 31337,
      contract: parseAddress(aProfile.addresses.sponsorship),
      namespace,
      paymaster: 'shop',
      nonce: 'nonce-12345678',
      time: someNow,
    });
    const paymaster = aPaymaster({
      funding: { address: owner.address, message, signature: owner.signMessageSync(message) },
    });
    return { paymaster, siblings: [paymaster] };
  };
  const organisation = anOrganisation({ tenantGeneration: 2 });

  test('does not prove, and one of the new tenant does', () => {
    expect(compile(proofOf('acme')).config.fundingAddress).toBe(owner.address);
    const former = compile({ ...proofOf('acme'), organisation });
    expect(former.accepted).toMatchObject({ status: 'False', reason: 'FundingNotProven' });
    expect(former.config.fundingAddress).toBeUndefined();
    expect(compile({ ...proofOf('acme@2'), organisation }).config.fundingAddress).toBe(owner.address);
    expect(compile(proofOf('acme@2')).config.fundingAddress).toBeUndefined();
  });
});

describe('the signing key of a webhook', () => {
  const until = plusMs(someNow, 3_600_000);
  const rotated = aPolicy({
    meta: { name: 'hook' },
    name: 'Hook',
    policyType: 'WEBHOOK',
    webhook: {
      url: 'https://host.example/',
      keyGeneration: 2,
      previousKeyUntil: new Date(until).toISOString(),
    },
  });

  test('of generation 1 is what it was before keys could be rotated', () => {
    expect(deriveWebhookKey(webhookMaster, 'id', 1)).toBe(deriveWebhookKey(webhookMaster, 'id'));
    expect(deriveWebhookKey(webhookMaster, 'id', 2)).not.toBe(deriveWebhookKey(webhookMaster, 'id'));
    expect(compile({ policies: [aWebhook] }).config.webhooks[0]).not.toHaveProperty('keyGeneration');
  });

  test('is rotated with an overlap', () => {
    const { config, policies } = compile({ policies: [rotated] });
    expect(config.webhooks[0]).toMatchObject({ keyGeneration: 2, previousKeyUntil: until });
    expect(policies[0]?.keyGeneration).toBe(2);
  });

  test('does not come back when the policy is deleted and made again, with or without its Paymaster', () => {
    const served = compile({ policies: [rotated] }).config;
    const gone = compile({ previous: served }).config;
    for (const previous of [served, gone, buryPaymaster(served, someNow), buryPaymaster(gone, someNow)]) {
      const again = compile({ policies: [aWebhook], previous }).config;
      expect(again.webhooks[0]?.keyGeneration).toBe(2);
      expect(again.webhooks[0]?.previousKeyUntil).toBeUndefined();
    }
  });
});
