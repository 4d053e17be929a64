import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../support/rules/source-files.ts';

export const KUBERNETES_FOLDER = join(ROOT, 'kubernetes');

/** What `kubectl apply --kustomize kubernetes` makes, besides the settings' ConfigMap. */
export const KUBERNETES_FILES = [
  'deployment.yaml',
  'network-policy.yaml',
  'pod-disruption-budget.yaml',
  'service-account.yaml',
  'status-service.yaml',
  'webhooks-service.yaml',
] as const;

type Labels = Readonly<Record<string, string>>;
type Selected = { readonly matchLabels: Labels };
type Probe = { readonly httpGet: { readonly port: string } };

interface Container {
  image: string;
  args: string[];
  env: { name: string; value: string }[];
  envFrom: { configMapRef: { name: string } }[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  lifecycle: { preStop: { sleep: { seconds: number } } };
  resources: { limits: { memory: string } };
  securityContext: {
    allowPrivilegeEscalation: boolean;
    readOnlyRootFilesystem: boolean;
    capabilities: { drop: string[] };
  };
  volumeMounts: { name: string; mountPath: string }[];
}

interface Pod {
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: { runAsUser: number; runAsGroup: number };
  containers: Container[];
}

interface Specs {
  'deployment.yaml': { selector: Selected; template: { metadata: { labels: Labels }; spec: Pod } };
  'network-policy.yaml': { podSelector: Selected };
  'pod-disruption-budget.yaml': { selector: Selected };
  'status-service.yaml': { selector: Labels; ports: { targetPort: string }[] };
  'webhooks-service.yaml': { selector: Labels; ports: { targetPort: string }[] };
  'monitoring/service-monitor.yaml': { selector: Selected };
}

/** One object of the folder `kubernetes`, as far as tests look at it. */
export function manifest<Name extends keyof Specs>(name: Name) {
  const text = readFileSync(join(KUBERNETES_FOLDER, name), 'utf8');
  return parse(text) as { metadata: { labels: Labels }; spec: Specs[Name] };
}
