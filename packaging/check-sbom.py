"""Check a CycloneDX 1.6 file against its schema: packaging/check-sbom.py FILE. Needs cyclonedx-python-lib."""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(Path(sys.argv[1]).read_text(encoding="utf-8"))
if error:
    sys.exit(f"{sys.argv[1]}: {error}")
print(f"{sys.argv[1]}: valid CycloneDX 1.6")
