import { describe, expect, test } from '@jest/globals';
import { helm, operatorChart, reachAnywhere } from './support/helm.js';

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
      name: 'a password does not go into the address of the database',
      set: 'postgres.url=postgresql://u:secret@db.example.org/u',
      message: /at '\/postgres\/url': .*does not match pattern/,
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
      name: 'a pod has time to finish requests after its endpoint is withdrawn',
      set: 'rpc.preStopSeconds=60',
      message: /rpc\.terminationGracePeriodSeconds must be at least 80: preStopSeconds and 20 to finish requests, got 45/,
    },
    {
      name: 'a pod has time to end',
      set: 'dashboard.terminationGracePeriodSeconds=1',
      message: /dashboard\.terminationGracePeriodSeconds must be at least 25: preStopSeconds and 20 to finish requests, got 1/,
    },
    {
      name: 'the operator has time to hand over',
      set: 'operator.terminationGracePeriodSeconds=1',
      message: /at '\/operator\/terminationGracePeriodSeconds': minimum: got 1, want 10/,
    },
    {
      name: 'the autoscaler has room to scale',
      set: 'rpc.autoscaling.enabled=true&rpc.autoscaling.minReplicas=5&rpc.autoscaling.maxReplicas=2',
      message: /rpc\.autoscaling\.maxReplicas must be at least minReplicas \(5\), got 2/,
    },
    {
      name: 'the autoscaler has a request to measure by',
      set: 'rpc.autoscaling.enabled=true&rpc.resources.requests.cpu=null',
      message: /rpc\.resources\.requests\.cpu must be set with autoscaling: use is measured against it/,
    },
    {
      name: 'an address range has octets',
      set: 'networkPolicy.apiServer.cidrs={999.1.1.1/40}',
      message: /at '\/networkPolicy\/apiServer\/cidrs\/0': .*does not match pattern/,
    },
    {
      name: 'an address range has a prefix that fits',
      set: 'networkPolicy.postgres.cidrs={10.1.1.1/40}',
      message: /at '\/networkPolicy\/postgres\/cidrs\/0': .*does not match pattern/,
    },
    {
      name: 'an amount of memory has a unit of Kubernetes',
      set: 'rpc.resources.limits.memory=12Foo',
      message: /at '\/rpc\/resources\/limits\/memory': .*does not match pattern/,
    },
    {
      name: 'a request is not above its limit',
      set: 'rpc.resources.requests.memory=2Gi',
      message: /rpc\.resources\.requests\.memory \(2Gi\) must not be above its limit \(1Gi\)/,
    },
    {
      name: 'a request in another unit is not above its limit either',
      set: 'operator.resources.requests.cpu=1500m&operator.resources.limits.cpu=1',
      message: /operator\.resources\.requests\.cpu \(1500m\) must not be above its limit \(1\)/,
    },
    {
      name: 'a volume has room',
      set: 'postgres.bundled.persistence.size=0Gi',
      message: /at '\/postgres\/bundled\/persistence\/size': .*does not match pattern/,
    },
    {
      name: 'a route names its Gateway',
      set: 'rpc.httpRoute.enabled=true',
      message: /rpc\.httpRoute\.parentRefs must name the Gateway/,
    },
    {
      name: 'pods that are scraped let Prometheus in',
      set: 'monitoring.podMonitor.enabled=true',
      message: /networkPolicy\.prometheusNamespace must name the namespace of Prometheus while monitoring\.podMonitor\.enabled is true/,
    },
    {
      name: 'CloudNativePG has two standbys at least, so that one may be away',
      set: 'postgres.cloudnativepg.instances=2',
      message: /at '\/postgres\/cloudnativepg\/instances': minimum: got 2, want 3/,
    },
    {
      name: 'a digest of a bundled image is a SHA-256',
      set: 'postgres.bundled.image.digest=latest',
      message: /at '\/postgres\/bundled\/image\/digest': .*does not match pattern/,
    },
    {
      name: 'somebody says where the API server is',
      set: 'networkPolicy.apiServer.anywhere=false',
      message: /networkPolicy\.apiServer needs one of cidrs and anywhere, got none: cidrs are the addresses of the API server/,
    },
    {
      name: 'the API server is either at an address or anywhere',
      set: 'networkPolicy.apiServer.cidrs={10.0.0.1/32}',
      message: /networkPolicy\.apiServer needs one of cidrs and anywhere, got both/,
    },
    {
      name: 'an image digest is a SHA-256',
      set: 'image.digest=sha256:abc',
      message: /at '\/image\/digest': .*does not match pattern/,
    },
  ])('$name', ({ set, message }) => {
    const value = set.includes('{') || set.includes('&') ? set.replaceAll('&', ',') : set.replaceAll(',', '\\,');
    const run = helm(['template', 'gas', operatorChart, reachAnywhere, '--set=postgres.bundled.enabled=true', `--set=${value}`]);
    expect(run.ok).toBe(false);
    expect(run.stderr).toMatch(message);
  });
});
