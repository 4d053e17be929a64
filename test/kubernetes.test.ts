import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALL_SETTINGS, VARIABLES } from '../src/config/settings.ts';
import { KUBERNETES_FILES, KUBERNETES_FOLDER, manifest } from './kubernetes/manifests.ts';
import { ROOT } from './support/rules/source-files.ts';

const deployment = manifest('deployment.yaml');
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const docker = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const kustomization = parse(readFileSync(join(KUBERNETES_FOLDER, 'kustomization.yaml'), 'utf8')) as {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { name: string; literals: readonly string[] }[];
};

/** What a Service, a policy or a budget finds its pods by. */
const NAME = { 'app.kubernetes.io/name': 'research-mirror' };

it('the Kubernetes manifests are all built by kustomization.yaml, one object a file', () => {
  const files = readdirSync(KUBERNETES_FOLDER).filter((name) => name.endsWith('.yaml'));
  const objects = files.filter((name) => name !== 'kustomization.yaml');
  expect(kustomization.resources.toSorted()).toEqual(objects.toSorted());
  expect(KUBERNETES_FILES).toEqual(kustomization.resources);
});

it('the Kubernetes manifests set what the program knows, and secrets from files alone', () => {
  const [settings] = kustomization.configMapGenerator;
  expect(container?.envFrom).toEqual([{ configMapRef: { name: settings?.name } }]);
  const names = settings?.literals.map((literal) => literal.split('=')[0] ?? '') ?? [];
  expect(names.filter((name) => !VARIABLES.includes(name))).toEqual([]);
  const [mount] = container?.volumeMounts.filter(({ name }) => name === 'secrets') ?? [];
  for (const { name, value } of container?.env ?? []) {
    expect(VARIABLES).toContain(name.replace(/_FILE$/, ''));
    expect(name).toMatch(/_FILE$/);
    expect(value?.startsWith(`${mount?.mountPath}/`)).toBe(true);
  }
  // The service's address is one only where somebody puts a password into it.
  const shown = ALL_SETTINGS.filter(({ names: [name], secret }) => secret !== undefined && names.includes(name));
  expect(shown.map(({ names: [name] }) => name)).toEqual(['MIRROR_API_URL']);
});

it('the Kubernetes manifests find the pods by the name that these have, and the ports by theirs', () => {
  expect(deployment.spec.template.metadata.labels).toEqual(NAME);
  expect(deployment.spec.selector.matchLabels).toEqual(NAME);
  expect(manifest('pod-disruption-budget.yaml').spec.selector.matchLabels).toEqual(NAME);
  expect(manifest('network-policy.yaml').spec.podSelector.matchLabels).toEqual(NAME);
  const ports = new Map(container?.ports.map(({ name, containerPort }) => [name, containerPort]));
  expect(docker).toContain(`EXPOSE ${[...ports.values()].join(' ')}\n`);
  for (const port of ['status', 'webhooks'] as const) {
    const { selector, ports: served } = manifest(`${port}-service.yaml`).spec;
    expect(selector).toEqual(NAME);
    expect(served.map(({ targetPort }) => targetPort)).toEqual([port]);
  }
  for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe])
    expect(probe?.httpGet.port).toBe('status');
  const monitor = manifest('monitoring/service-monitor.yaml').spec;
  expect(manifest('status-service.yaml').metadata.labels).toEqual(monitor.selector.matchLabels);
});

it('the Kubernetes manifests run as the image’s user, with no more rights than it needs, and wait for a stop', () => {
  const user = /^USER (\d+):(\d+)$/m.exec(docker);
  expect(pod.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: Number(user?.[1]),
    runAsGroup: Number(user?.[2]),
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(container?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(pod.automountServiceAccountToken).toBe(false);
  expect(pod.enableServiceLinks).toBe(false);
  // The contract's 8 s for a stop begin after the wait before it.
  const before = container?.lifecycle.preStop.sleep.seconds ?? Number.NaN;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(before + 8);
  expect(container?.volumeMounts.map(({ mountPath }) => mountPath)).toContain(/^VOLUME (\S+)$/m.exec(docker)?.[1]);
});
