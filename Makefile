# Both targets do their whole set-up; they need Python 3.11 or later that can make a venv.
PYTHON ?= python3

.PHONY: demo test

demo:
	$(PYTHON) dev.py demo $(DEMO_FLAGS)

test:
	$(PYTHON) dev.py test $(TEST_FLAGS)
