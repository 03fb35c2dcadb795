// What a caller writes with the types of the OpenAPI document. It only has to compile: whatever is
// `unknown`, `never` or missing where a caller needs it is an error here.
import type { components, operations, paths } from "./windlass";

type Schemas = components["schemas"];

export const job: Schemas["Submission"] = {
  kind: "http",
  input: { method: "POST", url: "https://shop.example/hook", json: { order: 42 } },
  retry: { max_attempts: 3, initial: "1s", factor: 2, jitter: true },
  priority: "high",
};

export function whyItFailed(found: Schemas["Job"]): string {
  const error = found.error;
  return error === null ? found.state : `${error.cause}: ${error.message}`;
}

export function restsAtMost(found: Schemas["Job"]): number | undefined {
  return found.retry?.max_attempts;
}

export function nodeOf(event: Schemas["Event"]): string | null | undefined {
  return event.type === "started" ? event.data.node_id : null;
}

export function orderOf(execution: Schemas["Execution"]): unknown {
  return execution.input["order"];
}

export function firstStep(workflow: Schemas["Workflow"]): string | undefined {
  return workflow.definition?.steps?.[0]?.kind;
}

export function contentType(delivery: Schemas["Delivery"]): string | undefined {
  return delivery.response_headers["content-type"];
}

export function fields(problem: Schemas["Problem"]): string[] {
  return (problem.errors ?? []).map((error) => `${error.pointer} ${error.detail}`);
}

type Listed = operations["get_jobs"]["responses"]["200"]["content"]["application/json"];
export function ids(page: Listed): [string[], string | null] {
  return [page.data.map((found) => found.id), page.next_cursor];
}

export type Query = NonNullable<paths["/v1/jobs"]["get"]["parameters"]["query"]>;
export const query: Query = { state: ["dead"], limit: 10 };
