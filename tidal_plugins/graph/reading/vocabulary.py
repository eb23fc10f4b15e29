"""The words that the rules know: types and their categories, tools, packages, file names, states."""

from __future__ import annotations

import re

from tidal_plugins.english.words import ANY_MONTH
from tidal_plugins.model.graph import Category, Mention
from tidal_plugins.patterns import lazy_re

CATEGORIES: dict[str, Category] = {
    **dict.fromkeys(
        "file directory function class module package tool variable config value version url error message "
        "symbol".split(),
        "technical",
    ),
    **dict.fromkeys(
        "person group organisation place date preference concept status pet possession creation event activity subject "
        "role condition medicine diet age price".split(),
        "contextual",
    ),
    **dict.fromkeys("decision rule plan promise".split(), "behavioural"),
}
"""Every type that the rules give, with its category [SIYA §3.3]. A symbol is code whose kind the text does not say."""

TOOLS = frozenset(
    "PostgreSQL Postgres MySQL SQLite MongoDB Redis RabbitMQ Elasticsearch Memcached DynamoDB BigQuery ClickHouse "
    "CockroachDB MariaDB Docker Kubernetes Terraform Ansible Nginx nginx Grafana GitHub GitLab Bitbucket Jira Slack "
    "Python JavaScript TypeScript Kotlin PHP Linux Ubuntu Debian macOS Vim Neovim Emacs PyCharm IntelliJ Xcode "
    "AWS GCP OpenAI Anthropic GraphQL gRPC OpenTelemetry Node.js WebAssembly PowerShell Ollama Supabase Firebase "
    "Cloudflare Heroku Netlify Vercel".split()
)
"""Names of software that mean nothing else: Go, Spark, Kafka, Rust or Swift may be something else."""

PACKAGES = frozenset(
    "pytest mypy numpy NumPy pandas PyTorch TensorFlow Django FastAPI SQLAlchemy Pydantic pydantic httpx aiohttp "
    "uvicorn LangChain LangGraph LlamaIndex Next.js Vue.js Nuxt.js Express.js three.js D3.js ESLint webpack Webpack "
    "scikit-learn matplotlib Matplotlib networkx NetworkX lodash asyncio pyproject sqlite-vec tokio".split()
)
"""The same, of what a package manager installs."""

ERRNO = frozenset(
    "ENOENT ECONNREFUSED EACCES ETIMEDOUT EADDRINUSE EPIPE ECONNRESET ENOSPC EPERM EEXIST ENOTFOUND EISDIR ENOMEM "
    "SIGKILL SIGSEGV SIGTERM".split()
)
LITERALS = frozenset("true false null none nil undefined nan main master head yes no on off todo self this".split())
"""Texts in backticks that name nothing of their own."""

FILE_NAMES = frozenset(
    "Dockerfile Makefile Procfile Gemfile Rakefile Jenkinsfile Vagrantfile Pipfile .gitignore .dockerignore .env "
    ".bashrc .zshrc .editorconfig .gitattributes .npmrc .nvmrc".split()
)
EXTENSIONS = (
    r"(?:pyi?|ipynb|[jt]sx?|[cm]js|jsonl?|ya?ml|toml|ini|cfg|conf|env|md|rst|txt|csv|tsv|sql|sh|bash|zsh|ps1|bat|go|rs|"
    r"java|kts?|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|scala|exs?|erl|hs|clj|dart|vue|svelte|html?|css|s[ca]ss|xml|proto|"
    r"graphql|tf|lock|log|db|sqlite3?|parquet|gradle|properties|patch|diff|png|jpe?g|svg|pdf|whl|zip|gz|tar)"
)

CUES = {
    **dict.fromkeys("function functions method methods helper handler hook decorator coroutine".split(), "function"),
    **dict.fromkeys("class classes schema model interface struct dataclass enum".split(), "class"),
    **dict.fromkeys("module modules".split(), "module"),
    **dict.fromkeys("package packages library dependency".split(), "package"),
    **dict.fromkeys("variable variables constant".split(), "variable"),
    **dict.fromkeys("setting settings option flag config".split(), "config"),
    **dict.fromkeys("file files script".split(), "file"),
    **dict.fromkeys("error exception".split(), "error"),
}
"""Words beside a piece of code that say what it is."""
DATE = lazy_re(
    r"(?<![\w.-])(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])"
    rf"|(?<![\w.])(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{ANY_MONTH})\.?,? (?P<y1>(?:19|20)\d\d)(?!\w)"
    rf"|(?<!\w)(?P<m2>{ANY_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?, (?P<y2>(?:19|20)\d\d)(?!\w)",
    re.IGNORECASE,
)
"""A date that needs no other to be understood: «Tuesday» or «March 3» name none."""

PERIOD = rf"(?:(?:{ANY_MONTH})\.?,? )?(?:19|20)\d\d(?![\w-]|[.,:/]\d)"
"""A year, or a month of one: they say since when something is so, and are nothing to come back to."""

KIN = {
    **{
        word: f"{word}_of"
        for word in (
            "sister brother mother father daughter son wife husband partner aunt uncle cousin niece nephew "
            "grandmother grandfather friend neighbour colleague manager girlfriend boyfriend flatmate landlord "
            "godmother godfather mentor teacher coach stepmother stepfather stepson stepdaughter twin widow"
        ).split()
    },
    **dict.fromkeys("mum mom mam mama".split(), "mother_of"),
    **dict.fromkeys("dad papa".split(), "father_of"),
    **dict.fromkeys("gran grandma granny nan".split(), "grandmother_of"),
    **dict.fromkeys("grandpa grandad granddad".split(), "grandfather_of"),
    **dict.fromkeys("missus".split(), "wife_of"),
    "auntie": "aunt_of",
    **dict.fromkeys("kid kids child children sons daughters".split(), "child_of"),
    **dict.fromkeys("grandson granddaughter grandkids grandchildren".split(), "grandchild_of"),
    **dict.fromkeys("fiancé fiance fiancée fiancee".split(), "partner_of"),
    **dict.fromkeys("buddy bestie".split(), "friend_of"),
    **dict.fromkeys("neighbor".split(), "neighbour_of"),
    **dict.fromkeys("boss supervisor".split(), "manager_of"),
    **dict.fromkeys("coworker co-worker teammate".split(), "colleague_of"),
    **dict.fromkeys("roommate housemate".split(), "flatmate_of"),
    **dict.fromkeys("brother-in-law".split(), "brother_in_law_of"),
    "parents": "parent_of",
    **dict.fromkeys("sister-in-law".split(), "sister_in_law_of"),
}
"""What one person is to another, with the predicate that says so."""

FEMALE = frozenset(
    "sister mother mum mom mam mama daughter wife missus aunt niece grandmother gran grandma granny nan girlfriend "
    "godmother stepmother stepdaughter widow granddaughter fiancée sister-in-law".split()
)
MALE = frozenset(
    "brother father dad papa son husband uncle nephew grandfather grandpa grandad granddad boyfriend godfather "
    "stepfather stepson grandson fiancé brother-in-law".split()
)

OBJECT_TYPES = {
    **dict.fromkeys("likes dislikes prefers".split(), "preference"),
    **dict.fromkeys("plans wants".split(), "plan"),
    **dict.fromkeys("decided chose".split(), "decision"),
    **dict.fromkeys("appointment deadline".split(), "date"),
    **dict.fromkeys("lives_in from_place visited located_in".split(), "place"),
    **dict.fromkeys("works_at member_of".split(), "organisation"),
    **dict.fromkeys("must never always".split(), "rule"),
    "promised": "promise", "attends": "event", "plays": "activity", "studies": "subject", "owns": "possession",
    "created": "creation", "costs": "price", "has_status": "status", "works_as": "role", "has_condition": "condition",
    "takes": "medicine", "diet": "diet", "age_is": "age", "has_version": "version", "has_pet": "pet",
}  # fmt: skip
"""The types of objects by their predicate. Others are what they are called."""
PERSONAL = frozenset(
    "works_at works_as lives_in from_place takes has_condition allergic_to diet age_is plays studies likes dislikes "
    "has_pet".split()
)
"""Predicates of people alone."""

HE, SHE = frozenset("he him his himself".split()), frozenset("she her hers herself".split())
IT, THEY = frozenset("it its itself this that there".split()), frozenset("they them their theirs".split())
PRONOUNS = HE | SHE | IT | THEY


def mention(text: str, type: str, start: int, end: int) -> Mention:
    """Return the entity that ``text[start:end]`` names."""
    return Mention(text[start:end], type, CATEGORIES[type], start, end)
