import { describe, expect, test } from '@jest/globals';
import { KubeApiError } from '../../../adapters/kube/api-error.js';
import { kindNames, type AnyResource } from '../../../core/resources/kinds.js';
import { apiVersion, group, version } from '../../../core/meta/meta.js';
import { campaignNames, ruleCases, type RuleCase, type Write } from '../../core/resources/rule-cases.js';
import { aChain } from '../../build/resources.js';
import { useStarted } from '../../support/use-started.js';
import { claimPlane } from './claimed-plane.js';

// The same table as for the in-process rules: the API server refuses what standalone refuses, in the same words.

const plane = useStarted(() => claimPlane(['rules']));

describe('the API server', () => {
  test.each(
    ruleCases.map((entry, index) => ({
      ...entry,
      index,
      name: `${entry.fails.now.kind} ${entry.field} must be ${entry.message}`,
    })),
  )('$name', async ({ index, field, message, passes, fails }: RuleCase & { index: number }) => {
    await write(`pass-${index}`, passes);
    const refused = await write(`fail-${index}`, fails).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(KubeApiError);
    const { status, causes } = refused as KubeApiError;
    expect(status).toBe(422);
    expect(causes.map((cause) => cause.field)).toContain(field);
    expect(causes.map((cause) => cause.message).join('\n')).toContain(`must be ${message}`);
  });

  test('takes a number or its one word for confirmations, and no other word, fraction or amount', async () => {
    const refusals = [];
    for (const [index, confirmations] of [0, 'finalized', 'latest', 1.5, 10_001, '12'].entries()) {
      const { spec } = aChain();
      const chain = { ...aChain(), spec: { ...spec, chainId: 100 + index, confirmations } } as AnyResource;
      const refused = await create(`confirmed-${index}`, chain).catch((error: unknown) => error);
      if (refused instanceof KubeApiError) refusals.push([confirmations, refused.causes[0]?.field]);
    }
    const field = 'spec.confirmations';
    expect(refusals).toEqual(['latest', 1.5, 10_001, '12'].map((wrong) => [wrong, field]));
  });

  test('takes the names of campaigns that standalone takes, and refuses the others', async () => {
    for (const [index, name] of campaignNames.good.entries())
      await create(`campaign-${index}`, campaignNames.of(name));
    for (const [index, name] of campaignNames.bad.entries()) {
      const refused = await create(`no-campaign-${index}`, campaignNames.of(name)).catch(
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(KubeApiError);
      expect((refused as KubeApiError).causes.map(({ field }) => field)).toContain('spec.campaign');
    }
  });

  test('tells kubectl which field is wrong and how to fix it', () => {
    const manifest = JSON.stringify({
      apiVersion,
      kind: 'PaymasterPolicy',
      metadata: { name: 'half-an-operation', namespace: 'rules' },
      spec: {
        paymasterRef: { name: 'shop' },
        name: 'half',
        policyType: 'PAYMASTER_SA_LIMIT',
        spendingLimit: {
          scope: 'PAYMASTER',
          threshold: '0.5',
          thresholdType: 'COUNT',
          cycleDuration: { value: 1, unit: 'day' },
        },
      },
    });
    expect(() => plane.kubectl(['apply', '-f', '-'], manifest)).toThrow(
      /spec\.spendingLimit\.threshold.*must be a whole number when thresholdType is COUNT; use NATIVE_ASSET/,
    );
  });
});

/** Creates the object; for a rule about changes, creates the previous object and then changes it. */
async function write(name: string, { now, old }: Write): Promise<void> {
  if (old === undefined) return create(name, now);
  await create(name, old);
  const path = `${collectionOf(now)}/${name}`;
  await plane.transport.request({
    method: 'PATCH',
    path,
    contentType: 'application/json-patch+json',
    body: [{ op: 'replace', path: '/spec', value: now.spec }],
  });
}

async function create(name: string, { kind, spec }: AnyResource): Promise<void> {
  const namespace = kindNames[kind].scope === 'Namespaced' ? { namespace: 'rules' } : {};
  await plane.transport.request({
    method: 'POST',
    path: collectionOf({ kind }),
    body: { apiVersion, kind, metadata: { name, ...namespace }, spec },
  });
}

function collectionOf({ kind }: Pick<AnyResource, 'kind'>): string {
  const { scope, plural } = kindNames[kind];
  return `/apis/${group}/${version}/${scope === 'Namespaced' ? 'namespaces/rules/' : ''}${plural}`;
}
