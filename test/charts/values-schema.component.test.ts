import { describe, expect, test } from '@jest/globals';
import { helm, operatorChart } from './support/helm.js';

type Case = { readonly name: string; readonly set: string; readonly message: RegExp };

describe('values.schema.json', () => {
  test.each<Case>([
    {
      name: 'a misspelt value is refused by its name',
      set: 'rpc.replica=3',
      message: /at '\/rpc': additional properties 'replica' not allowed/,
    },
    {
      name: 'no component runs without a replica',
      set: 'operator.replicas=0',
      message: /at '\/operator\/replicas': minimum: got 0, want 1/,
    },
    {
      name: 'the log level is one of four',
      set: 'logLevel=loud',
      message: /at '\/logLevel': value must be one of 'debug', 'info', 'warn', 'error'/,
    },
    {
      name: 'a password does not go into the URL of the usage store',
      set: 'usageStore.url=redis://:secret@redis:6379',
      message: /at '\/usageStore\/url': .*does not match pattern/,
    },
    {
      name: 'the public URL is an origin without path',
      set: 'publicRpcUrl=https://example.org/rpc',
      message: /at '\/publicRpcUrl': .*does not match pattern/,
    },
    {
      name: 'a chain id is a number',
      set: 'admission.chainAllowList.chainIds={mainnet}',
      message: /at '\/admission\/chainAllowList\/chainIds\/0': got string, want integer/,
    },
    {
      name: 'an address range has a prefix length',
      set: 'networkPolicy.apiServer.cidrs={10.0.0.1}',
      message: /at '\/networkPolicy\/apiServer\/cidrs\/0': .*does not match pattern/,
    },
    {
      name: 'a private webhook host has ranges',
      set: 'webhooks.allowedPrivateHosts[0].url=http://hooks.shop.svc.cluster.local',
      message: /at '\/webhooks\/allowedPrivateHosts\/0': missing property 'networks'/,
    },
    {
      name: 'a private webhook host is an origin',
      set: 'webhooks.allowedPrivateHosts[0].url=http://hooks.shop.svc.cluster.local/check',
      message: /at '\/webhooks\/allowedPrivateHosts\/0\/url': .*does not match pattern/,
    },
    {
      name: 'a name is one that a Service may have',
      set: 'fullnameOverride=gas.example.org',
      message: /at '\/fullnameOverride': .*does not match pattern/,
    },
    {
      name: 'a role for Secrets is bound only under the admission policy that says where',
      set: 'admission.restrictBindings.enabled=false',
      message: /admission\.restrictBindings\.enabled must be true while operator\.connectionSecrets\.organisations is/,
    },
    {
      name: 'an image digest is a SHA-256',
      set: 'image.digest=sha256:abc',
      message: /at '\/image\/digest': .*does not match pattern/,
    },
  ])('$name', ({ set, message }) => {
    const value = set.includes('{') ? set : set.replaceAll(',', '\\,');
    const run = helm(['template', 'gas', operatorChart, '--set=redis.enabled=true', `--set=${value}`]);
    expect(run.ok).toBe(false);
    expect(run.stderr).toMatch(message);
  });
});
