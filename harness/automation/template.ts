/**
 * A commented automation config to start from. It is valid as it is: everything that needs a decision is commented
 * out, and each comment says what a key does.
 */
export const AUTOMATION_TEMPLATE = `# Automation config of one auto-build run. Check it with:
#   serving config check automation FILE
# The schema is closed: an unknown key is an error. Every key: docs/reference.

schema_version: 2
profile: advisory # advisory, pr, merge or unattended

review:
  max_rounds: 5 # rounds for each attempt; HX_REVIEW_MAX_ROUNDS overrides it
  loop_timeout_sec: 900 # all rounds together, counted anew when a parked run resumes

# caps:
#   wall_clock_sec: 14400
#   cost_usd: 25

# verification:
#   coverage:
#     command: npm run coverage
#     artifact: coverage/coverage-summary.json # relative, inside the project; deleted before every run
#     parser: istanbul # or lcov
#     baseline: none # admission: capture the base commit, and set max_regression_pct
#     min_line_pct: 80
#     min_branch_pct: 70
#     timeout_sec: 1200
#
#   # One app for conformance and visual; started and stopped by the harness.
#   app:
#     command: npm start
#     stop_timeout_sec: 10 # from TERM to KILL
#     ready: # exactly one of url and command; with command, also set interface
#       url: http://127.0.0.1:3000/healthz
#       timeout_sec: 60
#
#   # Required when the verification mapping has a requirement of kind runtime_conformance.
#   conformance:
#     evaluator: local-evaluator # a provider that declares conformance_command
#     timeout_sec: 600
#
#   # Required when the verification mapping has a requirement of kind visual.
#   visual:
#     command: npm ci && npm run ui:review # in a fresh checkout of HEAD
#     artifact: review/verdict.json
#     url: http://127.0.0.1:3000/ # same origin as the app
#     timeout_sec: 900
#     skip_is_failure: true

# routing: # only narrows what the user's routing registry permits
#   enabled: true
#   allowed_profiles: [local-coder]
#   default_task_route: local-first

# unattended:
#   on_review_breaker: terminate
#   on_stale_finding: terminate
#   on_origin_gate: terminate
#   budget:
#     meter_all_invocations: true
#     estimate_unmetered: true
#     estimate_usd_per_invocation: 2
`;
